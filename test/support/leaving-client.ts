import { randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { TestService } from './test-service.ts';
import { waitUntil } from './wait-until.ts';

export type SentRequest = {
  method: string;
  path: string;
  headers?: Record<string, string>;
  /** A text is sent unchanged. */
  body?: object | string;
  /** The body is not complete: the test sends the rest. */
  isOpen?: boolean;
  /** The client does not read the body of the response. */
  isUnread?: boolean;
};

type ClientAnswer = { status: number; headers: IncomingHttpHeaders; text: string };

/** Sends a request on a connection of its own, which may leave. */
export const sendFromClient = (service: TestService, token: string, sent: SentRequest) => {
  const { method, path, headers, body, isOpen = false, isUnread = false } = sent;
  const requestId = randomUUID();
  const request = httpRequest(`${service.baseUrl}${path}`, {
    method,
    agent: false,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      'X-Request-Id': requestId,
      ...headers,
    },
  });
  const { promise: answer, resolve, reject } = Promise.withResolvers<ClientAnswer>();
  answer.catch(() => {});
  request.on('error', reject);
  request.on('response', async (response) => {
    response.on('error', () => {});
    if (isUnread) return;
    let text = '';
    try {
      for await (const piece of response.setEncoding('utf8')) text += piece;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    } catch (error) {
      reject(error);
    }
  });
  if (body !== undefined) request.write(typeof body === 'object' ? JSON.stringify(body) : body);
  if (isOpen) request.flushHeaders();
  else request.end();
  const line = () => service.log.find((entry) => entry.requestId === requestId && 'path' in entry);
  return {
    request,
    answer,
    status: answer.then(
      ({ status }) => status,
      () => undefined,
    ),
    /** Resets the connection, which the service notices sooner than its end, and waits until it has. */
    leave: async (): Promise<void> => {
      request.socket?.resetAndDestroy();
      await waitUntil('the end of its connection', () => line() !== undefined);
      if (line()?.msg !== 'request aborted') throw new Error(`not left in time: ${JSON.stringify(line())}`);
    },
  };
};

/** Waits until no request holds anything. */
export const waitUntilIdle = ({ inUse }: Pick<TestService, 'inUse'>): Promise<void> =>
  waitUntil('a service that is idle', () => Object.values(inUse()).every((count) => count === 0), {
    explain: () => JSON.stringify(inUse()),
  });
