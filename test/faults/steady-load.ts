import { setTimeout } from 'node:timers/promises';
import { createLedger } from './ledger.ts';
import { createRawClient } from './raw-client.ts';

/** In ms. */
const TICK = 10;

type SteadyLoadOptions = { url: string; token: string; connections: number };

/** Sends requests at a fixed rate, or as fast as responses arrive; on each connection one after another. */
export const createSteadyLoad = async ({ url, token, connections }: SteadyLoadOptions) => {
  const ledger = createLedger();
  const clients = await Promise.all(Array.from({ length: connections }, () => createRawClient(url, token)));

  return {
    ledger,
    /** Sends `rate` requests per second for `duration` ms, and waits for the responses. */
    atRate: async (rate: number, duration: number) => {
      const answers: Promise<unknown>[] = [];
      const startedAt = performance.now();
      let sent = 0;
      for (let elapsed = 0; elapsed < duration; elapsed = performance.now() - startedAt) {
        for (; sent < (rate * elapsed) / 1000; sent++) {
          const client = clients[sent % connections];
          if (client) answers.push(ledger.record(ledger.takeId(), client.post));
        }
        await setTimeout(TICK);
      }
      await Promise.all(answers);
    },
    /** Sends one request after another on each connection for `duration` ms. */
    atOnce: async (duration: number) => {
      const endAt = performance.now() + duration;
      const run = async ({ post }: (typeof clients)[number]) => {
        while (performance.now() < endAt) await ledger.record(ledger.takeId(), post);
      };
      await Promise.all(clients.map(run));
    },
    close: () => {
      for (const client of clients) client.close();
    },
  };
};
