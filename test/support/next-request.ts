import { subscribe, unsubscribe } from 'node:diagnostics_channel';

const CHANNEL = 'http.server.request.start';

/** Resolves when a server of this process has received the header of a request. */
export const nextRequest = (): Promise<void> =>
  new Promise((resolve) => {
    const onStart = () => {
      unsubscribe(CHANNEL, onStart);
      resolve();
    };
    subscribe(CHANNEL, onStart);
  });
