import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createKeyReader, idempotent, readIdempotencyKey } from './keyed-request.ts';

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

test('a wrong key is shown with what it must be, and several keys are refused', () => {
  const read = (...keys: string[]) =>
    readIdempotencyKey({
      headers: { 'idempotency-key': keys.join(', ') },
      headersDistinct: { 'idempotency-key': keys },
    });
  const must = 'must be 1 to 255 visible ASCII characters, in double quotes or without any.';
  for (const [key, shown] of [
    ['a b', '"a b"'],
    ['"a', '"\\"a"'],
    ['é'.repeat(61), `"${'é'.repeat(60)}"… (61 characters)`],
  ] as const)
    expect(() => read(key)).toThrow(`The Idempotency-Key is ${shown} and ${must}`);
  expect(() => read('a', 'b')).toThrow('There is more than one Idempotency-Key header.');
});

test('the document allows the keys that the service accepts, and no others', () => {
  const [parameter] = idempotent.parameters as { schema: { pattern: string } }[];
  const described = new RegExp(parameter?.schema.pattern ?? '', 'u');
  const isAccepted = (text: string) => {
    try {
      return readIdempotencyKey({ headers: { 'idempotency-key': text }, headersDistinct: {} }) !== undefined;
    } catch {
      return false;
    }
  };
  const quoted = (length: number, unit: string) => `"${unit.repeat(length)}"`;
  const edges = [255, 256].flatMap((length) => ['a'.repeat(length), quoted(length, 'a'), quoted(length, '\\"')]);
  expect(edges.map(isAccepted)).toEqual([true, true, true, false, false, false]);
  for (const text of ['', '""', '"', 'a"b', '\\', '"\\"', ...edges])
    expect([text, described.test(text)]).toEqual([text, isAccepted(text)]);
  const part = fc.constantFrom('"', '\\', 'a', '[', ']', '~', '!', ' ', 'é');
  fc.assert(fc.property(fc.array(part), (parts) => described.test(parts.join('')) === isAccepted(parts.join(''))));
  fc.assert(
    fc.property(
      fc.array(part),
      (parts) => described.test(quoted(1, parts.join(''))) === isAccepted(quoted(1, parts.join(''))),
    ),
  );
});
