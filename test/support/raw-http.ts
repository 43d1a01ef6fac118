import { connect } from 'node:net';

/** A raw response; `head` is the status line and the header fields. */
export type RawAnswer = { status: number; head: string; body: string };

/** TCP resets the connection if bytes arrive after the store has closed it. */
const RESET = ['ECONNRESET', 'EPIPE'];

type Options = {
  port: number;
  /** How long the store may take to close the connection, in ms. */
  deadline?: number;
  /** Where the connection comes from. */
  localAddress?: string | undefined;
};
type Exchange = Options & { bytes: Uint8Array };

/**
 * Sends bytes unchanged on a new connection, which the store must close.
 * @returns the responses, in order, without interim ones (RFC 9110 §15.2)
 * @throws {Error} if the connection is not closed in time
 */
export const exchangeBytes = ({ bytes, ...options }: Exchange): Promise<RawAnswer[]> =>
  exchangeInTurn({ ...options, requests: [bytes] });

/** Like `exchangeBytes`, but sends each of the requests only once the one before it has its response. */
export const exchangeInTurn = ({
  port,
  requests,
  deadline = 5000,
  localAddress,
}: Options & { requests: Uint8Array[] }) =>
  new Promise<RawAnswer[]>((resolve, reject) => {
    const received: Buffer[] = [];
    let failure: NodeJS.ErrnoException | undefined;
    let sent = 0;
    let answered = 0;
    const sendNext = () => {
      if (sent < requests.length) socket.write(requests[sent++] as Uint8Array);
    };
    const socket = connect({ port, host: '127.0.0.1', localAddress }, sendNext);
    const tooLate = setTimeout(() => socket.destroy(new Error(`not closed within ${deadline} ms`)), deadline);
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      if (sent === requests.length) return;
      const rest = Buffer.concat(received).toString('latin1').slice(answered);
      const length = firstLength(
        rest,
        Buffer.from(requests[sent - 1] as Uint8Array).toString('latin1', 0, 5) === 'HEAD ',
      );
      if (length === undefined || rest.length < length) return;
      answered += length;
      sendNext();
    });
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

/** @returns the length of the first response of a text, with interim ones before it; undefined if the text does not tell */
const firstLength = (text: string, isHead: boolean): number | undefined => {
  const end = text.indexOf('\r\n\r\n') + 4;
  if (end < 4) return undefined;
  const head = text.slice(0, end);
  const status = Number(head.slice(9, 12));
  if (status < 200) {
    const next = firstLength(text.slice(end), isHead);
    return next && end + next;
  }
  if (isHead || status === 204 || status === 304) return end;
  if (!/^transfer-encoding: chunked/im.test(head)) return end + Number(/^content-length: (\d+)/im.exec(head)?.[1]);
  const last = text.indexOf('\r\n0\r\n\r\n', end - 2);
  return last === -1 ? undefined : last + 7;
};

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
