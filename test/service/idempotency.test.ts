import { gzipSync } from 'node:zlib';
import { beforeEach, expect } from '@jest/globals';
import { createKeyReader } from '../../src/idempotency/keyed-request.ts';
import { onCitus, unless } from '../support/skip.ts';
import { errorOf, expectReplay, isReplayed, type Sent, useKeys } from '../support/use-keys.ts';
import { useTestServices } from '../support/use-test-service.ts';

const { describe, test } = unless(onCitus('keys are refused'));

const { service, own, setKey, send, post } = useKeys();
let number = 0;
let id = 0;
let key = '';
beforeEach(() => {
  ({ number, id, key } = own());
});
const fresh = { headers: { 'Idempotency-Key': 'another' } };

describe('the same request again gets the first answer, and does nothing', () => {
  test('POST: the plant does not come back after another client deleted it', async () => {
    const first = await post();
    expect(first.text).toBe('{"name":"Fir","tag":"Abies"}');
    await service.request('delete', `/plants/${id}`);
    await expectReplay(post, first);
    expect(await service.stored(BigInt(id))).toBeUndefined();
  });

  test('POST: an id that was taken stays an error', async () => {
    await service.post({ id, name: 'Yew' });
    const first = await post();
    expect(errorOf(first)).toEqual([400, 1004]);
    await service.request('delete', `/plants/${id}`);
    await expectReplay(post, first);
    expect(await service.stored(BigInt(id))).toBeUndefined();
  });

  test.each(['put', 'patch', 'delete'] as const)('%s, of a plant and of none', async (method) => {
    const body = method === 'delete' ? undefined : { name: 'Yew' };
    const change = () => send(method, `/plants/${id}`, { ...(body && { body }) });
    const missing = await change();
    expect(errorOf(missing)).toEqual([404, 1201]);
    await service.post({ id, name: 'Fir', tag: 'x' });
    await expectReplay(change, missing);
    key = setKey(`${key}b`);
    const first = await change();
    expect(first.status).toBe(method === 'delete' ? 204 : 200);
    await service.request('delete', `/plants/${id}`);
    await service.post({ id, name: 'Oak', tag: 'y' });
    await expectReplay(change, first);
    expect(await service.stored(BigInt(id))).toMatchObject({ name: 'Oak', tag: 'y' });
  });

  test.each(['put', 'patch', 'delete'] as const)('%s with If-Match, although it no longer matches', async (method) => {
    await service.post({ id, name: 'Fir "é"\n', tag: 'x' });
    const etag = (await service.request('get', `/plants/${id}`)).headers.etag ?? '';
    const body = method === 'delete' ? undefined : { name: 'Yew' };
    const change = () => send(method, `/plants/${id}`, { ...(body && { body }), headers: { 'If-Match': etag } });
    const first = await change();
    expect(first.status).toBe(method === 'delete' ? 204 : 200);
    await expectReplay(change, first);
    key = setKey(`${key}b`);
    const failed = await change();
    expect(errorOf(failed)).toEqual(method === 'delete' ? [404, 1201] : [412, 1204]);
    await service.request('delete', `/plants/${id}`);
    await service.post({ id, name: 'Fir "é"\n', tag: 'x' });
    await expectReplay(change, failed);
  });

  test('a PATCH has the plant as it was, with all characters', async () => {
    const name = 'Fir "é"\n\u2028\u0001\u007f\\/😀';
    await service.post({ id, name, tag: '' });
    const patch = (body: object) => () => send('patch', `/plants/${id}`, { body });
    const first = await patch({ tag: null })();
    expect(first.text).toBe(JSON.stringify({ name }));
    await service.request('put', `/plants/${id}`).send({ name: 'Yew' });
    await expectReplay(patch({ tag: null }), first);
  });

  test('as problem details', async () => {
    await service.post({ id, name: 'Yew' });
    const again = () => post({ headers: { Accept: 'application/problem+json' } });
    await expectReplay(again, await again());
  });
});

test('only hashes of a key and of its request are stored', async () => {
  await post();
  const rows = await service.database.query(`
    SELECT octet_length(fingerprint) AS length, status, answer, expires_at > now() AS "isKept"
    FROM idempotency_keys WHERE key = sha256('test\n${key}')`);
  expect(rows).toEqual([{ length: 32, status: 200, answer: null, isKept: true }]);
  const [columns] = await service.database.query(
    "SELECT count(*)::int AS count FROM information_schema.columns WHERE table_name = 'idempotency_keys'",
  );
  expect(columns).toEqual({ count: 5 });
});

test('answers to requests that were wrong in themselves, and to wrong tokens, are not kept', async () => {
  const scoped = await service.tokens.create({ name: `read-${number}`, scopes: ['plants:read'], expiresAt: null });
  expect(errorOf(await post({ token: scoped }))).toEqual([403, 1102]);
  expect(errorOf(await post({ token: 'wrong' }))).toEqual([401, 1101]);
  expect(errorOf(await post({ body: { id } }))).toEqual([400, 1003]);
  expect(errorOf(await post({ body: '{' }))).toEqual([400, 1000]);
  expect(isReplayed(await post())).toBe(false);
  // The token is checked before anything is repeated.
  expect(errorOf(await post({ token: 'wrong' }))).toEqual([401, 1101]);
});

test('the key with another method, path, query, body or precondition is an error', async () => {
  expect((await post()).status).toBe(200);
  const others = [
    () => post({ body: { id, name: 'Yew', tag: 'Abies' } }),
    () => post({ body: { id: id + 1, name: 'Fir', tag: 'Abies' } }),
    () => post({ headers: { 'If-Match': '"x"' } }),
    () => send('post', '/plants?x=1', { body: { id, name: 'Fir', tag: 'Abies' } }),
    () => send('put', `/plants/${id}`, { body: { name: 'Fir', tag: 'Abies' } }),
    () => send('patch', `/plants/${id}`, { body: { name: 'Fir' } }),
    () => send('delete', `/plants/${id}`),
    () => send('delete', `/plants/${id}`, { headers: { 'If-Match': '"x"' } }),
  ];
  for (const other of others) expect(errorOf(await other())).toEqual([422, 1301]);
  const [first, second] = await Promise.all([post(fresh), post({ ...fresh, body: { id, name: 'Oak' } })]);
  expect([errorOf(first), errorOf(second)]).toContainEqual([422, 1301]);
  expect(await service.stored(BigInt(id))).toMatchObject({ name: 'Fir', tag: 'Abies' });
});

test('the key of a change with only another method, plant or precondition is an error', async () => {
  for (const other of [id, id + 1]) await service.post({ id: other, name: 'Fir' });
  const body = { name: 'Yew', tag: 'Taxus' };
  expect((await send('put', `/plants/${id}`, { body })).status).toBe(200);
  const others = [
    () => send('patch', `/plants/${id}`, { body }),
    () => send('put', `/plants/${id + 1}`, { body }),
    () => send('put', `/plants/${id}`, { body, headers: { 'If-Match': '*' } }),
    () => send('put', `/plants/${id}`, { body, headers: { 'If-None-Match': '"x"' } }),
  ];
  for (const other of others) expect(errorOf(await other())).toEqual([422, 1301]);
  expect(await service.stored(BigInt(id + 1))).toMatchObject({ name: 'Fir' });
});

test('the same request in another encoding is the same', async () => {
  const first = await post();
  const encodings: Sent[] = [
    { body: `{ "tag": "Abies", "id": ${id}.0, "other": 1, "name": "F\\u0069r" }` },
    { headers: { 'Content-Type': 'application/json; charset=UTF-8' } },
    { headers: { 'Idempotency-Key': `"${key}"` } },
  ];
  for (const encoding of encodings) await expectReplay(() => post(encoding), first);
  const compressed = await fetch(`${service.baseUrl}/plants`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${service.token}`,
      'Content-Type': 'application/json',
      'Content-Encoding': 'gzip',
      'Idempotency-Key': key,
    },
    body: gzipSync(JSON.stringify({ id, name: 'Fir', tag: 'Abies' })),
  });
  expect([compressed.status, compressed.headers.get('Idempotent-Replayed')]).toEqual([200, 'true']);
});

test('a key belongs to the name of a token', async () => {
  await post();
  const other = await service.tokens.create({ name: `other-${number}`, scopes: ['plants:write'], expiresAt: null });
  const answer = await post({ token: other });
  expect([errorOf(answer), isReplayed(answer)]).toEqual([[400, 1004], false]);
});

test.each(['a', '!~,;:"x'])('accepts the key %s', async (text) => {
  key = setKey(text + number);
  await expectReplay(post, await post());
});

test.each([
  ['none', ''],
  ['none in quotes', '""'],
  ['a space', 'a b'],
  ['a space in quotes', '"a b"'],
  ['an open quote', '"a'],
  ['a quote inside', '"a"b"'],
  ['two keys', '"a", "b"'],
  ['a parameter', '"a";b=1'],
  ['another character', 'é'],
])('refuses a key with %s', async (_title, text) => {
  const answer = await post({ headers: { 'Idempotency-Key': text } });
  expect(errorOf(answer)).toEqual([400, 1300]);
  expect(answer.body.message.length).toBeLessThan(200);
  expect(await service.stored(BigInt(id))).toBeUndefined();
});

test('refuses a repeated header', async () => {
  const answer = await post({ headers: { 'Idempotency-Key': ['a', 'b'] as never } });
  expect(errorOf(answer)).toEqual([400, 1300]);
});

test('quotes and escapes are not part of a key', async () => {
  key = setKey(`a\\"${number}`);
  const first = await post({ headers: { 'Idempotency-Key': `"a\\\\\\"${number}"` } });
  await expectReplay(post, first);
});

test('operations that take no key ignore it', async () => {
  await post();
  const get = () => service.request('get', `/plants/${id}`).set('Idempotency-Key', 'a b');
  expect((await get()).status).toBe(200);
  const row = async () => (await send('post', '/plants/import', { body: [{ id: id + 1, name: 'Yew' }] })).body.created;
  expect([await row(), await row()]).toEqual([1, 0]);
});

test('an expired key is new', async () => {
  await post();
  await service.database.query("UPDATE idempotency_keys SET expires_at = now() - interval '1 s'");
  expect(errorOf(await post())).toEqual([400, 1004]);
  await service.database.query("UPDATE idempotency_keys SET expires_at = now() - interval '1 s'");
  expect((await send('patch', `/plants/${id}`, { body: { name: 'Yew' } })).status).toBe(200);
  const [row] = await service.database.query(
    "SELECT count(*)::int AS count, min(expires_at) > now() + interval '23 h 59 min' AS day FROM idempotency_keys WHERE expires_at > now()",
  );
  expect(row).toEqual({ count: 1, day: true });
});

test('a response to PATCH that is too long to be kept is refused, and nothing is changed', async () => {
  await service.post({ id, name: 'x'.repeat(100_000), tag: 'old' });
  const refused = await send('patch', `/plants/${id}`, { body: { tag: 'new' } });
  expect(errorOf(refused)).toEqual([400, 1303]);
  expect(refused.body.message).toMatch(/64 KiB.*nothing was changed\. Use PUT/);
  expect((await service.stored(BigInt(id)))?.tag).toBe('old');
  // Responses that follow from the request are not stored, so they may be as long as a body.
  const put = () => send('put', `/plants/${id}`, { body: { name: 'y'.repeat(1_000_000) } });
  await expectReplay(put, await put());
});

test.each(['post', 'put', 'patch', 'delete'] as const)(
  '%s: a change whose key cannot be kept is not made',
  async (method) => {
    const body = { name: 'Yew' };
    if (method !== 'post') await service.post({ id, name: 'Fir', tag: 'Abies' });
    const change = () =>
      method === 'post' ? post() : send(method, `/plants/${id}`, method === 'delete' ? {} : { body });
    const before = await service.stored(BigInt(id));
    await service.database.query('ALTER TABLE idempotency_keys ADD CONSTRAINT none CHECK (status = 0) NOT VALID');
    try {
      expect(errorOf(await change())).toEqual([500, 1599]);
    } finally {
      await service.database.query('ALTER TABLE idempotency_keys DROP CONSTRAINT none');
    }
    expect(await service.stored(BigInt(id))).toEqual(before);
    const first = await change();
    expect([200, 204]).toContain(first.status);
    await expectReplay(change, first);
  },
);

describe('with other settings', () => {
  const start = useTestServices();

  test('IDEMPOTENCY_RETENTION is how long a key is kept', async () => {
    const short = await start({ IDEMPOTENCY_RETENTION: '45m' });
    await post({ to: short });
    const [row] = await short.database.query(
      "SELECT expires_at - now() BETWEEN interval '44 min' AND interval '45 min' AS ok FROM idempotency_keys",
    );
    expect(row).toEqual({ ok: true });
  });

  test('a repeated answer counts towards the rate limit', async () => {
    const limited = await start({ RATE_LIMIT: '2/60' });
    await post({ to: limited });
    const second = await post({ to: limited });
    expect([isReplayed(second), second.headers.ratelimit]).toEqual([true, expect.stringMatching(/r=0/)]);
    expect(errorOf(await post({ to: limited }))).toEqual([429, 1400]);
  });

  test('without keys, the table of keys is not used', async () => {
    const plain = await start();
    await plain.database.query('DROP TABLE idempotency_keys');
    await Promise.all([1, 2, 3].map((n) => plain.post({ id: n, name: 'Fir' }).expect(200)));
    await plain.request('put', '/plants/1').send({ name: 'Yew' }).expect(200);
    await plain.request('delete', '/plants/1').expect(204);
    expect(errorOf(await post({ to: plain }))).toEqual([503, 1502]);
  });
});

test('where plants are distributed, a key is refused', async () => {
  const readKey = createKeyReader({ isDistributed: async () => true });
  const request = { headers: { 'idempotency-key': 'a' }, headersDistinct: { 'idempotency-key': ['a'] } } as never;
  await expect(readKey(request, {} as never, () => '')).rejects.toMatchObject({ code: 1303 });
  expect(await readKey({ headers: {} } as never, {} as never, () => '')).toBeUndefined();
});
