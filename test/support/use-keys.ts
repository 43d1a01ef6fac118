import { beforeEach, expect } from '@jest/globals';
import { shippedLocks, type TestService } from './test-service.ts';
import { useTestService } from './use-test-service.ts';

export type Sent = { body?: object | string; headers?: Record<string, string>; token?: string; to?: TestService };
type Answer = { status: number; text: string; body: { error?: number }; headers: Record<string, string> };

/** A service, and requests with a key, of which each test has another. */
export const useKeys = () => {
  const service = useTestService({}, { requestLimits: shippedLocks });
  let number = 0;
  let id = 0;
  let key = '';
  beforeEach(() => {
    number += 1;
    id = number * 1000;
    key = `key-${number}`;
  });
  const send = (method: 'post' | 'put' | 'patch' | 'delete', path: string, { body, headers, token, to }: Sent = {}) => {
    const { agent, token: own } = to ?? service;
    const request = agent[method](path).set({
      Authorization: `Bearer ${token ?? own}`,
      'Idempotency-Key': key,
      ...headers,
    });
    return body === undefined ? request : request.set('Content-Type', 'application/json').send(body);
  };
  return {
    service,
    /** The number of this test, and a key and an id that no other test uses. */
    own: () => ({ number, id, key }),
    /** @returns the key of the requests that follow */
    setKey: (text: string): string => {
      key = text;
      return key;
    },
    send,
    post: (sent: Sent = {}) => send('post', '/plants', { body: { id, name: 'Fir', tag: 'Abies' }, ...sent }),
  };
};

export const answerOf = ({ status, text, headers }: Answer) => ({
  status,
  text,
  etag: headers.etag,
  type: headers['content-type'],
});
export const isReplayed = ({ headers }: Answer) => headers['idempotent-replayed'] === 'true';
export const errorOf = ({ status, body }: Answer) => [status, body.error];
export const expectReplay = async (again: () => PromiseLike<Answer>, first: Answer) => {
  const second = await again();
  expect(answerOf(second)).toEqual(answerOf(first));
  expect([isReplayed(first), isReplayed(second)]).toEqual([false, true]);
};
