import { expect, test } from '@jest/globals';
import { createKeyReader } from './keyed-request.ts';

const readKey = createKeyReader({ isDistributed: async () => false });

/** Reads the key of a request, and replays its response. @returns the headers that this sets */
const replay = async (headersSent: boolean) => {
  const request = { method: 'PUT', url: '/plants/1', headers: { 'idempotency-key': 'a' }, headersDistinct: {} };
  const headers: Record<string, string> = {};
  const setHeader = (name: string, value: string) => {
    if (headersSent) throw new Error('ERR_HTTP_HEADERS_SENT');
    headers[name] = value;
  };
  const keyed = await readKey(request as never, { locals: {}, headersSent, setHeader } as never, () => '');
  keyed?.onReplay();
  return headers;
};

test('a response that is replayed is marked', async () => {
  expect(await replay(false)).toEqual({ 'Idempotent-Replayed': 'true' });
});

test('a replay behind the deadline, after which the client has another response, fails nothing', async () => {
  expect(await replay(true)).toEqual({});
});
