import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Scope } from '../../src/tokens/token.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { terminateBlocked, waitForBlocked } from '../support/lock-table.ts';
import { onCitus } from '../support/skip.ts';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService();
beforeEach(() => service.database.query('TRUNCATE plants'));

const MIN = '-9223372036854775808';
const MAX = '9223372036854775807';

type Headers = Record<string, string>;
const put = (id: string, body: unknown, headers: Headers = {}) =>
  service
    .request('put', `/plants/${id}`)
    .set({ 'Content-Type': 'application/json', ...headers })
    .send(text(body));
const patch = (id: string, body: unknown, headers: Headers = {}) =>
  service
    .request('patch', `/plants/${id}`)
    .set({ 'Content-Type': 'application/merge-patch+json', ...headers })
    .send(text(body));
const remove = (id: string, headers: Headers = {}) => service.request('delete', `/plants/${id}`).set(headers);
const text = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body));

const insert = (id: string, name: string, tag: string | null = null) =>
  service.database.query('INSERT INTO plants VALUES ($1, $2, $3)', [id, name, tag]);
const entityTag = async (id: string) => (await service.request('get', `/plants/${id}`)).headers.etag as string;

/** All operations that change a plant. */
const changes = [
  ['PUT', (id: string, headers?: Headers) => put(id, { name: 'Yew' }, headers)],
  ['PATCH', (id: string, headers?: Headers) => patch(id, { name: 'Yew' }, headers)],
  ['DELETE', (id: string, headers?: Headers) => remove(id, headers)],
] as const;

describe('PUT /plants/{id}', () => {
  test.each([MIN, '0', MAX])('replaces name and tag of the plant %s and of no other', async (id) => {
    await insert(id, 'Fir', 'Abies');
    await insert('7', 'Fir', 'Abies');
    const response = await put(id, { name: 'Yew', tag: 'Taxus' });
    expect([response.status, response.text]).toEqual([200, '{"name":"Yew","tag":"Taxus"}']);
    expect(await service.stored(id)).toEqual({ id, name: 'Yew', tag: 'Taxus' });
    expect(await service.stored('7')).toEqual({ id: '7', name: 'Fir', tag: 'Abies' });
  });

  test('removes the tag if the body has none', async () => {
    await insert('1', 'Fir', 'Abies');
    expect((await put('1', { name: 'Fir' })).text).toBe('{"name":"Fir"}');
    expect(await service.stored('1')).toEqual({ id: '1', name: 'Fir', tag: null });
  });

  test('code 1005: a part of the plant, which would replace the whole one', async () => {
    await insert('1', 'Fir', 'Abies');
    const { body } = await put('1', { name: 'Yew' }).set('Content-Range', 'bytes 0-14/30');
    expect(body.error).toBe(1005);
    expect(await service.stored('1')).toEqual({ id: '1', name: 'Fir', tag: 'Abies' });
  });

  test('ignores other members, including an id', async () => {
    await insert('1', 'Fir');
    expect((await put('1', { id: 2, name: 'Yew', height: 3 })).text).toBe('{"name":"Yew"}');
    expect(await service.database.query('SELECT id FROM plants')).toEqual([{ id: '1' }]);
  });

  test.each([
    ['no name', { tag: 'x' }, '/name'],
    ['a name that is null', { name: null }, '/name'],
    ['a tag that is null', { name: 'x', tag: null }, '/tag'],
    ['a tag that cannot be stored', { name: 'x', tag: '\0' }, '/tag'],
    ['an array', [], ''],
  ])('code 1003: %s', async (_title, body, pointer) => {
    await insert('1', 'Fir', 'Abies');
    const response = await put('1', body, { Accept: 'application/problem+json' });
    expect([response.status, response.body.code, response.body.errors[0].pointer]).toEqual([400, 1003, pointer]);
    expect(await service.stored('1')).toEqual({ id: '1', name: 'Fir', tag: 'Abies' });
  });
});

describe('PATCH /plants/{id} (RFC 7396)', () => {
  test.each([
    [{}, 'Fir', 'Abies'],
    [{ name: 'Yew' }, 'Yew', 'Abies'],
    [{ tag: 'Taxus' }, 'Fir', 'Taxus'],
    [{ tag: null }, 'Fir', null],
    [{ name: '', tag: '' }, '', ''],
    [{ id: 2, height: null }, 'Fir', 'Abies'],
  ])('%j changes it to %s, %s', async (body, name, tag) => {
    await insert(MAX, 'Fir', 'Abies');
    const response = await patch(MAX, body);
    expect([response.status, response.body]).toEqual([200, tag === null ? { name } : { name, tag }]);
    expect(await service.stored(MAX)).toEqual({ id: MAX, name, tag });
  });

  test.each([
    ['a name that is removed', { name: null }, '/name'],
    ['a name that is no string', { name: 1 }, '/name'],
    ['a tag that cannot be stored', '{"tag":"\\ud800"}', '/tag'],
    ['an array', [], ''],
    ['a null', 'null', ''],
  ])('code 1003: %s', async (_title, body, pointer) => {
    await insert('1', 'Fir');
    const response = await patch('1', body, { Accept: 'application/problem+json' });
    expect([response.status, response.body.code, response.body.errors[0].pointer]).toEqual([400, 1003, pointer]);
    expect(await service.stored('1')).toEqual({ id: '1', name: 'Fir', tag: null });
  });

  test('application/json is read as a merge patch', async () => {
    await insert('1', 'Fir', 'Abies');
    const response = await patch('1', { tag: null }, { 'Content-Type': 'application/json' });
    expect([response.status, response.text]).toEqual([200, '{"name":"Fir"}']);
  });

  test('code 1001: any other media type', async () => {
    await insert('1', 'Fir');
    const response = await patch('1', { name: 'Yew' }, { 'Content-Type': 'text/plain' });
    expect([response.status, response.body.error]).toEqual([400, 1001]);
    expect(response.body.message).toContain('application/merge-patch+json');
    expect(response.headers.accept).toBe('application/merge-patch+json, application/json');
  });
});

describe('PATCH /plants/{id} requires both scopes, since its response shows the stored plant', () => {
  test.each<[Scope[], string]>([
    [['plants:write'], 'plants:read'],
    [['plants:read'], 'plants:write'],
    [[], 'plants:read and plants:write'],
  ])('code 1102: a token with %j', async (scopes, missing) => {
    await insert('1', 'Fir', 'Abies');
    const token = await service.tokens.create({ name: `patch ${scopes}`, scopes, expiresAt: null });
    for (const body of [{}, { name: 'Yew' }]) {
      const response = await patch('1', body, { Authorization: `Bearer ${token}` });
      expect([response.status, response.body]).toEqual([
        403,
        { error: 1102, message: `The token lacks the scope ${missing}.` },
      ]);
      expect(response.headers['www-authenticate']).toBe(
        'Bearer realm="plants", error="insufficient_scope", scope="plants:read plants:write"',
      );
    }
    expect(await service.stored('1')).toEqual({ id: '1', name: 'Fir', tag: 'Abies' });
  });

  test('PUT and DELETE require only plants:write, since their responses show only what the client sent', async () => {
    await insert('1', 'Fir', 'Abies');
    const token = await service.tokens.create({ name: 'writer', scopes: ['plants:write'], expiresAt: null });
    const headers = { Authorization: `Bearer ${token}` };
    expect((await put('1', { name: 'Yew' }, headers)).text).toBe('{"name":"Yew"}');
    expect((await remove('1', headers)).status).toBe(204);
  });
});

describe('DELETE /plants/{id}', () => {
  test.each([MIN, MAX])('responds with 204 and no body, and deletes the plant %s', async (id) => {
    await insert(id, 'Fir');
    await insert('7', 'Fir');
    const response = await remove(id);
    expect([response.status, response.text, response.headers['content-type']]).toEqual([204, '', undefined]);
    expect(await service.database.query('SELECT id FROM plants')).toEqual([{ id: '7' }]);
    expect((await remove(id)).body.error).toBe(1201);
  });

  test('frees the id for another plant', async () => {
    await insert('1', 'Fir');
    await remove('1');
    expect((await service.post({ id: 1, name: 'Yew' })).status).toBe(200);
  });
});

describe.each(changes)('%s', (method, change) => {
  test('code 1005: a parameter that only operations on many plants have', async () => {
    await insert('1', 'Fir', 'Abies');
    const { status, body } = await change('1?dryRun=true');
    expect([status, body.error, body.message]).toEqual([400, 1005, 'The parameter dryRun is not known.']);
    expect(await service.stored('1')).toEqual({ id: '1', name: 'Fir', tag: 'Abies' });
  });

  test('code 1201: a plant that does not exist is not created', async () => {
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-None-Match': '*' }]) {
      const response = await change('1', headers);
      expect([response.status, response.body.error]).toEqual([404, 1201]);
    }
    expect(await service.database.query('SELECT id FROM plants')).toEqual([]);
  });

  test('code 1005: an invalid id', async () => {
    expect((await change('1.5')).body.error).toBe(1005);
  });

  test('changes the plant if the preconditions hold; otherwise code 1204 and no change', async () => {
    await insert('1', 'Fir', 'Abies');
    const current = await entityTag('1');
    for (const headers of [
      { 'If-Match': '"other"' },
      { 'If-Match': `W/${current}` },
      { 'If-Match': '' },
      { 'If-Match': '"' },
      { 'If-Match': current.slice(1, -1) },
      { 'If-Match': `x${current}` },
      { 'If-Match': `${current}x` },
      { 'If-None-Match': current },
      { 'If-None-Match': `"other", W/${current}` },
      { 'If-None-Match': `,, x, "a,b" ,\t${current},` },
      { 'If-None-Match': '*' },
      { 'If-Match': current, 'If-None-Match': current },
      { 'If-Match': '"other"', 'If-None-Match': '"other"' },
    ]) {
      const response = await change('1', headers);
      expect([headers, response.status, response.body.error]).toEqual([headers, 412, 1204]);
    }
    expect(await service.stored('1')).toEqual({ id: '1', name: 'Fir', tag: 'Abies' });

    for (const headers of [
      { 'If-Match': `"other", ${current}` },
      { 'If-Match': '*' },
      { 'If-None-Match': '"other"' },
      { 'If-Match': current, 'If-None-Match': '"other"' },
    ]) {
      await service.database.query('TRUNCATE plants');
      await insert('1', 'Fir', 'Abies');
      expect((await change('1', headers)).status).toBe(method === 'DELETE' ? 204 : 200);
    }
  });

  test.each([
    ['weak, as nginx makes it', (tag: string) => `W/${tag}`, true],
    ['changed, as Apache does', (tag: string) => tag.replace(/"$/, '-gzip"'), true],
    ['without quotes', (tag: string) => tag.slice(1, -1), true],
    ['of another version', () => `"${'A'.repeat(43)}"`, false],
    ['weak beside one of another version', (tag: string) => `W/${tag}, "${'A'.repeat(43)}"`, false],
  ])(
    'If-Match with a tag that is %s: code 1204, whose message says if it cannot match',
    async (_title, alter, hints) => {
      await insert('1', 'Fir', 'Abies');
      const ifMatch = alter(await entityTag('1'));
      const key = onCitus('keys are refused') ? [] : [{ 'Idempotency-Key': randomUUID() }];
      for (const headers of [{}, ...key]) {
        const { body } = await change('1', { 'If-Match': ifMatch, ...headers });
        expect([body.error, body.message.includes('a proxy')]).toEqual([1204, hints]);
      }
    },
  );

  test('responds with 503 and an unknown outcome if the database connection breaks', async () => {
    await insert('1', 'Fir');
    const unlock = await lockPlants(service.database.url);
    const waiting = change('1').then((response) => response);
    await waitForBlocked(service.database);
    await terminateBlocked(service.database);
    await unlock();
    const response = await waiting;
    expect([response.status, response.body.error]).toEqual([503, 1501]);
    expect(response.body.message).toContain('The outcome is unknown');
  });
});

test('changes with If-Match: * compare nothing, so that none has to try again', async () => {
  await insert('1', 'Fir', 'Abies');
  const statuses = await Promise.all(
    Array.from(
      { length: 40 },
      async (_, index) => (await put('1', { name: `put ${index}` }, { 'If-Match': '*' })).status,
    ),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect((await put('2', { name: 'Fir' }, { 'If-Match': '*' })).status).toBe(404);
});

test('of many concurrent changes with the same If-Match, one succeeds and the others get code 1204', async () => {
  await insert('1', 'Fir', 'Abies');
  const headers = { 'If-Match': await entityTag('1') };
  const responses = await Promise.all([
    ...Array.from({ length: 8 }, (_, index) => put('1', { name: `put ${index}` }, headers)),
    ...Array.from({ length: 8 }, (_, index) => patch('1', { name: `patch ${index}` }, headers)),
  ]);
  const done = responses.filter(({ status }) => status === 200);
  expect(done).toHaveLength(1);
  expect(responses.filter(({ body }) => body.error === 1204)).toHaveLength(15);
  expect((await service.stored('1'))?.name).toBe(done[0]?.body.name);
});
