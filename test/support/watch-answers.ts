import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Answer } from './check-answer.ts';

/** Lists the problems with a response. */
type Check = (answer: Answer) => string[];

const checks = new Map<number, Check>();
let problems: string[] = [];

/** Checks every response from a port of this process from now on. */
export const watchAnswers = (port: number, check: Check): void => {
  checks.set(port, check);
};

/** Checks no more responses from a port, which the system may soon give to a server of another kind. */
export const unwatchAnswers = (port: number): void => {
  checks.delete(port);
};

/** The problems with the responses since the last call. */
export const takeProblems = (): string[] => {
  const taken = problems;
  problems = [];
  return taken;
};

const note = ({ localPort = 0 }: Socket, answer: Answer) => {
  problems.push(...(checks.get(localPort)?.(answer) ?? []));
};

type Chunk = string | Uint8Array | (() => void) | null | undefined;

/** Records what a handler writes until the response is complete. */
const onRequest = (message: unknown) => {
  const { request, response, socket } = message as {
    request: IncomingMessage;
    response: ServerResponse;
    socket: Socket;
  };
  // The original URL: Express changes it.
  const { method: verb = '', url: path = '' } = request;
  const chunks: Uint8Array[] = [];
  for (const method of ['write', 'end'] as const) {
    const original = response[method] as (...words: unknown[]) => unknown;
    response[method] = ((chunk: Chunk, ...words: unknown[]) => {
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk as string));
      const result = original.call(response, chunk, ...words);
      if (method === 'end') {
        const body = Buffer.concat(chunks).toString();
        note(socket, { method: verb, path, status: response.statusCode, headers: { ...response.getHeaders() }, body });
      }
      return result;
    }) as never;
  }
};

/** Records responses that are written directly to the connection. */
const onConnection = (message: unknown) => {
  const { socket } = message as { socket: Socket };
  const end = socket.end.bind(socket) as (...words: unknown[]) => Socket;
  socket.end = (...words: unknown[]) => {
    if (typeof words[0] === 'string' && words[0] !== '') note(socket, parseAnswer(words[0]));
    return end(...words);
  };
};

const parseAnswer = (text: string): Answer => {
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  const [line = '', ...fields] = head.split('\r\n');
  const headers = Object.fromEntries(fields.map((field) => [field.split(':')[0]?.toLowerCase(), field.split(': ')[1]]));
  return { status: Number(line.split(' ')[1]), headers, body };
};

/** Starts watching. @returns a function that stops it */
export const startWatching = () => {
  subscribe('http.server.request.start', onRequest);
  subscribe('net.server.socket', onConnection);
  return () => {
    unsubscribe('http.server.request.start', onRequest);
    unsubscribe('net.server.socket', onConnection);
  };
};
