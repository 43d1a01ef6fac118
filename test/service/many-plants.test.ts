import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Scope } from '../../src/tokens/token.ts';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService({ METRICS_PORT: '0', REQUEST_TIMEOUT: '60' });
/** Plants 1 to 9: those with even ids have the tag Abies, and the others none. The first are stored last. */
beforeEach(async () => {
  await service.database.query('TRUNCATE plants');
  await service.database.query(
    "INSERT INTO plants SELECT id, 'Fir ' || id, CASE WHEN id % 2 = 0 THEN 'Abies' END FROM generate_series(9, 1, -1) AS id",
  );
});

type Headers = Record<string, string>;
const remove = (query: string, headers: Headers = {}) => service.request('delete', `/plants${query}`).set(headers);
const patch = (query: string, change: object, headers: Headers = {}) =>
  service
    .request('patch', `/plants${query}`)
    .set({ 'Content-Type': 'application/merge-patch+json', ...headers })
    .send(JSON.stringify(change));
const both = [
  ['DELETE', (query: string, headers?: Headers) => remove(query, headers)],
  ['PATCH', (query: string, headers?: Headers) => patch(query, { name: 'Yew' }, headers)],
] as const;

/** The ids of the plants for which a condition holds. */
const idsWhere = async (condition = 'TRUE') =>
  (await service.database.query(`SELECT id FROM plants WHERE ${condition} ORDER BY id`)).map(({ id }) => Number(id));

const filters: [string, number[]][] = [
  ['?tag=Abies', [2, 4, 6, 8]],
  ['?tag=abies', []],
  ['?tag=', []],
  ['?id=3', [3]],
  ['?id=9&id=1&id=1&id=1000', [1, 9]],
  ['?id=1&id=2&tag=Abies', [2]],
  ['?q=fIR%202', [2]],
  ['?q=%25', []],
  ['?q=fir', [1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ['?q=fir&tag=Abies&id=4', [4]],
  ['?tag=Abies&limit=3', [2, 4, 6]],
  ['?q=fir&limit=1', [1]],
  ['?tag=Abies&limit=100000', [2, 4, 6, 8]],
  ['?tag=Abies&dryRun=false', [2, 4, 6, 8]],
];

describe('DELETE /plants', () => {
  test.each(filters)('%s deletes the plants %j', async (query, expected) => {
    const all = await idsWhere();
    const dry = await remove(`${query.replace('&dryRun=false', '')}&dryRun=true`);
    expect([dry.status, dry.text, await idsWhere()]).toEqual([200, `{"deleted":${expected.length}}`, all]);
    const { status, text } = await remove(query);
    expect([status, text]).toEqual([200, `{"deleted":${expected.length}}`]);
    expect(await idsWhere()).toEqual(all.filter((id) => !expected.includes(id)));
  });

  test('is repeated with a limit until it deletes none', async () => {
    const counts = [];
    do counts.push((await remove('?q=fir&limit=4')).body.deleted);
    while (counts.at(-1) > 0);
    expect(counts).toEqual([4, 4, 1, 0]);
  });

  test('needs plants:write only', async () => {
    expect((await service.agent.delete('/plants?id=1')).status).toBe(401);
    expect((await remove('?id=1', await withScopes('plants:read'))).body.error).toBe(1102);
    expect((await remove('?id=1', await withScopes('plants:write'))).text).toBe('{"deleted":1}');
  });
});

const withScopes = async (...scopes: Scope[]) => {
  const token = await service.tokens.create({ name: crypto.randomUUID(), scopes, expiresAt: null });
  return { Authorization: `Bearer ${token}` };
};

describe('PATCH /plants (RFC 7396)', () => {
  test.each(filters)('%s changes the plants %j', async (query, expected) => {
    const dry = await patch(`${query.replace('&dryRun=false', '')}&dryRun=true`, { name: 'Yew' });
    expect([dry.status, dry.text, await idsWhere("name = 'Yew'")]).toEqual([200, `{"updated":${expected.length}}`, []]);
    const { status, text } = await patch(query, { name: 'Yew' });
    expect([status, text]).toEqual([200, `{"updated":${expected.length}}`]);
    expect(await idsWhere("name = 'Yew'")).toEqual(expected);
    expect(await idsWhere("tag = 'Abies'")).toEqual([2, 4, 6, 8]);
  });

  test.each([
    [{ tag: null }, 1, { name: 'Fir 2', tag: null }],
    [{ tag: 'Taxus' }, 2, { name: 'Fir 2', tag: 'Taxus' }],
    [{ tag: '' }, 2, { name: 'Fir 2', tag: '' }],
    [{ name: '', tag: 'Abies' }, 2, { name: '', tag: 'Abies' }],
    [{ name: 'Fir 2', tag: 'Abies' }, 1, { name: 'Fir 2', tag: 'Abies' }],
    [{ name: 'Fir 2' }, 1, { name: 'Fir 2', tag: 'Abies' }],
    [{}, 0, { name: 'Fir 2', tag: 'Abies' }],
    [{ id: 7, height: 3 }, 0, { name: 'Fir 2', tag: 'Abies' }],
  ])('%j changes what it has, and %i of the plants 1 and 2', async (change, updated, second) => {
    const dry = await patch('?id=1&id=2&dryRun=true', change);
    const { status, text } = await patch('?id=1&id=2', change);
    expect([status, text, dry.text]).toEqual([200, `{"updated":${updated}}`, text]);
    expect(await service.stored('2')).toEqual({ id: '2', ...second });
  });

  test('writes no plant that would stay as it is, also if there is a limit', async () => {
    const versions = async () => await service.database.query('SELECT id, xmin FROM plants ORDER BY id');
    const before = await versions();
    expect((await patch('?q=fir', { tag: 'Abies' })).body.updated).toBe(5);
    expect((await versions()).filter(({ xmin }, index) => xmin === before[index]?.xmin)).toHaveLength(4);
    expect((await patch('?q=fir', { tag: 'Abies' })).body.updated).toBe(0);
    await service.database.query('UPDATE plants SET tag = NULL WHERE id >= 7');
    expect((await patch('?q=fir&limit=2', { tag: 'Abies' })).body.updated).toBe(2);
    expect(await idsWhere('tag IS NULL')).toEqual([9]);
  });

  test.each([
    ['not JSON', '{', 1000],
    ['an array', '[]', 1003],
    ['a name that is null', '{"name":null}', 1003],
    ['a tag that cannot be stored', '{"tag":"\\u0000"}', 1003],
  ])('refuses %s', async (_title, body, error) => {
    const request = service.request('patch', '/plants?q=fir').set('Content-Type', 'application/json');
    const response = await request.send(body);
    expect([response.status, response.body.error, await idsWhere("name LIKE 'Fir _'")]).toEqual([
      400,
      error,
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    ]);
  });

  test('needs both scopes, as PATCH /plants/{id}', async () => {
    const change = { name: 'Yew' };
    for (const scope of ['plants:read', 'plants:write'] as const)
      expect((await patch('?id=1', change, await withScopes(scope))).body.error).toBe(1102);
    expect((await patch('?id=1', change, await withScopes('plants:read', 'plants:write'))).body.updated).toBe(1);
  });
});

describe.each(both)('%s', (method, send) => {
  const all = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const unchanged = () => idsWhere("name LIKE 'Fir _'");

  test.each([
    ['', 'The parameter tag, id or q is required.'],
    ['?limit=5&dryRun=true', 'The parameter tag, id or q is required.'],
    ['?tag=Abies&limit=0', 'The parameter limit must be an integer from 1 to 100000, not "0".'],
    ['?tag=Abies&limit=100001', 'The parameter limit must be an integer from 1 to 100000, not "100001".'],
    ['?tag=Abies&limit=1e3', 'The parameter limit must be an integer from 1 to 100000, not "1e3".'],
    ['?tag=Abies&dryRun=', 'The parameter dryRun must be true or false, not "".'],
    ['?tag=Abies&page=2', 'The parameter page is not known.'],
    ['?tags=Abies', 'The parameter tags is not known. The parameter tag, id or q is required.'],
  ])('%s: 400, code 1005', async (query, message) => {
    const { status, body } = await send(query);
    expect([status, body, await unchanged()]).toEqual([400, { error: 1005, message }, all]);
  });

  test.each(['?id=x', '?id=', '?q=', '?tag=a&tag=b', '?tag=%00', '?tag=%FF'])('%s: code 1005', async (query) => {
    const { status, body } = await send(query);
    expect([status, body.error, await unchanged()]).toEqual([400, 1005, all]);
  });

  test.each([
    ['If-Match', '*', 1005],
    ['If-None-Match', '"x"', 1005],
    ['Idempotency-Key', 'a', 1303],
    ['Idempotency-Key', 'a b', 1300],
  ])('takes no %s: %s is code %i', async (name, value, error) => {
    const { status, body } = await send('?id=1', { [name]: value });
    expect([status, body.error, await unchanged()]).toEqual([400, error, all]);
  });

  test('is one line of the log, with the number of plants, and counted in the metrics', async () => {
    service.log.splice(0);
    await send('?tag=Abies&dryRun=true');
    expect(service.log.at(-1)).not.toHaveProperty('rows');
    await send('?tag=Abies');
    expect(service.log.at(-1)).toMatchObject({ method, path: '/plants', token: 'test', status: 200, rows: 4 });
    const { value } = await service.metrics();
    expect(
      value('plant_store_http_request_duration_seconds_count', { method, route: '/plants', status: '200' }),
    ).toBeGreaterThan(0);
  });
});

test('120,000 plants are patched and deleted in one statement each, or by a limit', async () => {
  await service.database.query("INSERT INTO plants SELECT id, 'Fir', 'many' FROM generate_series(1001, 121000) AS id");
  expect((await patch('?tag=many', { tag: 'more' })).text).toBe('{"updated":120000}');
  expect((await remove('?tag=more&limit=100000')).text).toBe('{"deleted":100000}');
  expect((await remove('?tag=more')).text).toBe('{"deleted":20000}');
  expect(await idsWhere()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});
