import { connect, type Socket } from 'node:net';

/**
 * The target of an attack. `token` may read and write; `largeId` is the id of a plant of nearly 1 MiB, followed by more of them;
 * another transaction has locked `lockedId`.
 */
export type Target = { port: number; token: string; largeId: number; lockedId: number };

/** Runs until `signal` aborts. */
export type Attack = (target: Target, signal: AbortSignal) => Promise<void>;

type Connection = { port: number; signal: AbortSignal; reads?: boolean };

/** Opens a connection that never reads, unless `reads` is set. @returns undefined if it is refused */
export const open = ({ port, signal, reads = false }: Connection): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const abort = () => socket.destroy();
    signal.addEventListener('abort', abort, { once: true });
    socket.on('connect', () => resolve(socket));
    // Attacks must expect that connections are refused or closed.
    socket.on('error', () => resolve(undefined));
    socket.on('close', () => {
      signal.removeEventListener('abort', abort);
      resolve(undefined);
    });
    if (reads) socket.resume();
    else socket.pause();
  });

/** Waits until the store closes the connection; closes it after `milliseconds`. */
export const closed = (socket: Socket, milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), milliseconds);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    if (socket.destroyed) {
      clearTimeout(timer);
      resolve();
    }
  });

/** Runs `count` concurrent loops of `once` until the signal aborts. */
export const repeatedly = async (count: number, signal: AbortSignal, once: () => Promise<void>): Promise<void> => {
  const loop = async () => {
    while (!signal.aborted) {
      await once();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await Promise.all(Array.from({ length: count }, loop));
};

type RequestOptions = { method?: string; headers?: string[]; body?: string | Uint8Array };

/** The bytes of a request with the token. */
export const requestBytes = (token: string, path: string, options: RequestOptions = {}): Buffer => {
  const { method = 'GET', headers = [], body = '' } = options;
  const bytes = Buffer.from(body as string);
  const length = headers.some((header) => /^(content-length|transfer-encoding)/i.test(header))
    ? []
    : [`Content-Length: ${bytes.length}`];
  // The store refuses a request with two of them.
  const type = headers.some((header) => /^content-type:/i.test(header)) ? [] : ['Content-Type: application/json'];
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: store',
    `Authorization: Bearer ${token}`,
    ...type,
    ...headers,
    ...(method === 'GET' ? [] : length),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes]);
};
