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

/** Records what is written until the response is complete, by a handler or by the server itself. */
const onResponse = (message: unknown) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  // The original URL: Express changes it. A response to what is not a request has neither.
  const { method: verb, url: path, socket } = request;
  const chunks: Uint8Array[] = [];
  for (const method of ['write', 'end'] as const) {
    const original = response[method] as (...words: unknown[]) => unknown;
    response[method] = ((chunk: Chunk, ...words: unknown[]) => {
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk as string));
      const result = original.call(response, chunk, ...words);
      if (method === 'end') {
        const body = Buffer.concat(chunks).toString();
        const target = verb ? { method: verb, path: path ?? '' } : {};
        note(socket, { ...target, status: response.statusCode, headers: { ...response.getHeaders() }, body });
      }
      return result;
    }) as never;
  }
};

/** Starts watching. @returns a function that stops it */
export const startWatching = () => {
  subscribe('http.server.response.created', onResponse);
  return () => {
    unsubscribe('http.server.response.created', onResponse);
  };
};
