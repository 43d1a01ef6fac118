import { connect } from 'node:net';

/** A raw response; `head` is the status line and the header fields. */
export type RawAnswer = { status: number; head: string; body: string };

/** TCP resets the connection if bytes arrive after the store has closed it. */
const RESET = ['ECONNRESET', 'EPIPE'];

type Exchange = {
  port: number;
  bytes: Uint8Array;
  /** How long the store may take to close the connection, in ms. */
  deadline?: number;
  /** Where the connection comes from. */
  localAddress?: string | undefined;
};

/**
 * Sends bytes unchanged on a new connection, which the store must close.
 * @returns the responses, in order, without interim ones (RFC 9110 §15.2)
 * @throws {Error} if the connection is not closed in time
 */
export const exchangeBytes = ({ port, bytes, deadline = 5000, localAddress }: Exchange): Promise<RawAnswer[]> =>
  new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    let failure: NodeJS.ErrnoException | undefined;
    const socket = connect({ port, host: '127.0.0.1', localAddress }, () => socket.write(bytes));
    const tooLate = setTimeout(() => socket.destroy(new Error(`not closed within ${deadline} ms`)), deadline);
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    socket.on('error', (error) => {
      failure = error;
    });
    socket.on('close', () => {
      clearTimeout(tooLate);
      const text = Buffer.concat(received).toString();
      if (failure && !RESET.includes(failure.code ?? '')) reject(new Error(`${failure.message} after: ${text}`));
      else resolve(splitAnswers(text));
    });
  });

/** Bodies must not contain a status line. */
const splitAnswers = (text: string): RawAnswer[] =>
  text
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((part) => part !== '')
    .map((part) => {
      const end = part.indexOf('\r\n\r\n');
      return { status: Number(part.slice(9, 12)), head: part.slice(0, end), body: part.slice(end + 4) };
    })
    .filter(({ status }) => status >= 200);
