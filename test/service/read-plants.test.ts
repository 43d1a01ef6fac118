import { beforeEach, describe, expect, test } from '@jest/globals';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService();
beforeEach(() => service.database.query('TRUNCATE plants'));

const MIN = '-9223372036854775808';
const MAX = '9223372036854775807';

const insert = (sql: string) => service.database.query(`INSERT INTO plants (id, name, tag) ${sql}`);
const get = (path: string, headers: Record<string, string> = {}) => service.request('get', path).set(headers);

describe('GET /plants/{id}', () => {
  test.each([MIN, '-1', '0', '4503599627370497', '9007199254740993', MAX])('returns the exact id %s', async (id) => {
    await insert(`VALUES (${id}, 'Fir', 'Abies'), (7, 'other', NULL)`);
    const response = await get(`/plants/${id}`);
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.text).toBe(`{"id":${id},"name":"Fir","tag":"Abies"}`);
  });

  test('returns no tag if none is stored, and an empty tag if that is stored', async () => {
    await insert(`VALUES (1, 'Fir', NULL), (2, 'Fir', '')`);
    expect((await get('/plants/1')).text).toBe('{"id":1,"name":"Fir"}');
    expect((await get('/plants/2')).text).toBe('{"id":2,"name":"Fir","tag":""}');
  });

  test('code 1201: the plant does not exist', async () => {
    const response = await get(`/plants/${MAX}`);
    expect([response.status, response.body.error]).toEqual([404, 1201]);
    expect(response.body.message).toContain(MAX);
  });

  test.each([
    '9223372036854775808',
    '-9223372036854775809',
    '1.0',
    '1e3',
    '01',
    '+1',
    '0x1',
    'x',
    '%20',
    '-',
    '%zz',
    '%FF',
  ])('code 1005: the id %s', async (id) => {
    const response = await get(`/plants/${id}`);
    expect([response.status, response.body.error]).toEqual([400, 1005]);
  });

  test('treats -0 as 0', async () => {
    await insert(`VALUES (0, 'Fir', NULL)`);
    expect((await get('/plants/-0')).text).toBe('{"id":0,"name":"Fir"}');
  });

  test('responds with 304 while the ETag matches If-None-Match, and with 200 once the plant has changed', async () => {
    await insert(`VALUES (1, 'Fir', NULL)`);
    const { etag = '' } = (await get('/plants/1')).headers;
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    for (const value of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const response = await get('/plants/1', { 'If-None-Match': value });
      expect([response.status, response.text, response.headers.etag]).toEqual([304, '', etag]);
    }
    for (const value of ['', '"', etag.slice(1, -1), `x${etag}`, `W/ ${etag}`, `w/${etag}`, `"W/"${etag}`, '"*"']) {
      expect([value, (await get('/plants/1', { 'If-None-Match': value })).status]).toEqual([value, 200]);
    }
    await service.database.query(`UPDATE plants SET tag = ''`);
    const changed = await get('/plants/1', { 'If-None-Match': etag });
    expect(changed.status).toBe(200);
    expect(changed.headers.etag).not.toBe(etag);
  });

  test("responds with 304 to Node.js's fetch, which sends no-cache with If-None-Match (RFC 9110 §13.1.2)", async () => {
    await insert(`VALUES (1, 'Fir', NULL)`);
    const ask = (headers: Record<string, string>) =>
      fetch(`${service.baseUrl}/plants/1`, { headers: { Authorization: `Bearer ${service.token}`, ...headers } });
    const { headers } = await ask({});
    const etag = headers.get('etag') ?? '';
    const again = await ask({ 'If-None-Match': etag });
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    // No cache that several users share may store a plant.
    for (const response of [headers, again.headers]) expect(response.get('cache-control')).toBe('private, no-cache');
    for (const cacheControl of ['no-cache', 'no-store', 'max-age=0']) {
      expect((await ask({ 'If-None-Match': etag, 'Cache-Control': cacheControl })).status).toBe(304);
    }
  });

  test('code 1204: the ETag does not match If-Match (RFC 9110 §13.1.1, §13.2.2)', async () => {
    await insert(`VALUES (1, 'Fir', NULL)`);
    const { etag = '' } = (await get('/plants/1')).headers;
    for (const headers of [{ 'If-Match': '"x"' }, { 'If-Match': `W/${etag}` }, { 'If-Match': '' }]) {
      for (const more of [{}, { 'If-None-Match': etag }]) {
        const response = await get('/plants/1', { ...headers, ...more });
        expect([response.status, response.body.error, response.headers.etag]).toEqual([412, 1204, undefined]);
        expect(response.body.message).toContain('a proxy that compresses responses');
      }
    }
    for (const value of [etag, '*', `"x", ${etag}`]) {
      expect((await get('/plants/1', { 'If-Match': value })).text).toBe('{"id":1,"name":"Fir"}');
      expect((await get('/plants/1', { 'If-Match': value, 'If-None-Match': etag })).status).toBe(304);
      expect((await get('/plants/2', { 'If-Match': value })).status).toBe(404);
    }
    expect((await service.request('head', '/plants/1').set('If-Match', '"x"')).status).toBe(412);
  });

  test('refuses parameters, which it has none of', async () => {
    await insert("VALUES (1, 'Fir', NULL)");
    const response = await get('/plants/1?page=2');
    expect([response.status, response.body]).toEqual([
      400,
      { error: 1005, message: 'The parameter page is not known.' },
    ]);
  });

  test('concurrent requests share statements, and each gets its own plant', async () => {
    await insert(`SELECT i, 'name ' || i, NULL FROM generate_series(1, 300) i`);
    const responses = await Promise.all(Array.from({ length: 400 }, (_, index) => get(`/plants/${(index % 400) + 1}`)));
    for (const [index, { status, body }] of responses.entries()) {
      const id = index + 1;
      if (id <= 300) expect([status, body]).toEqual([200, { id, name: `name ${id}` }]);
      else expect([status, body.error]).toEqual([404, 1201]);
    }
  });
});

test('parameters are checked even after many others', async () => {
  const many = 'a&'.repeat(1000);
  for (const wrong of ['limit=junk', 'cursor=%00']) {
    const response = await service.request('get', `/plants?${many}${wrong}`);
    expect([response.status, response.body.error]).toEqual([400, 1005]);
  }
});
