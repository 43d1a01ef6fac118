import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { propertyRuns } from '../support/property-runs.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { useTestService, useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

// Pages with plants of up to 9 MB take a busy machine longer than the time of a request.
const service = useTestService({ REQUEST_TIMEOUT: '60' });
const start = useTestServices();
beforeEach(() => service.database.query('TRUNCATE plants'));

const MIN = '-9223372036854775808';
const MAX = '9223372036854775807';

const insert = (sql: string) => service.database.query(`INSERT INTO plants (id, name, tag) ${sql}`);
const get = (path: string, headers: Record<string, string> = {}) => service.request('get', path).set(headers);

/** Follows the links to the next pages. @returns the ids on each page */
const walk = async (path: string, between: (page: string[]) => Promise<unknown> = async () => {}) => {
  const pages: string[][] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const response = await get(next);
    expect(response.status).toBe(200);
    const page = [...response.text.matchAll(/"id":(-?\d+)/g)].map(([, id]) => id as string);
    pages.push(page);
    const [, link] = /^<(.+)>; rel="next"$/.exec(response.headers.link ?? '') ?? [];
    next = link && `/plants${link}`;
    await between(page);
  }
  return pages;
};

describe('GET /plants', () => {
  test('returns an array sorted by id, of 100 plants by default', async () => {
    await insert(`SELECT i, 'Fir', NULL FROM generate_series(1, 150) i`);
    await insert(`VALUES (${MAX}, 'last', 'x'), (${MIN}, 'first', NULL)`);
    const response = await get('/plants');
    expect(response.text).toMatch(new RegExp(`^\\[\\{"id":${MIN},"name":"first"\\},\\{"id":1,"name":"Fir"\\},`));
    expect(response.body).toHaveLength(100);
    expect((await walk('/plants')).map(({ length }) => length)).toEqual([100, 52]);
  });

  test('has no next page after a full last page, and returns an empty page after the last plant', async () => {
    expect(await walk('/plants')).toEqual([[]]);
    await insert(`SELECT i, 'Fir', NULL FROM generate_series(1, 6) i`);
    expect(await walk('/plants?limit=3')).toEqual([
      ['1', '2', '3'],
      ['4', '5', '6'],
    ]);
    const { link } = (await get('/plants?limit=5')).headers;
    await service.database.query('DELETE FROM plants WHERE id = 6');
    expect(await walk(`/plants${/<(.+)>/.exec(link ?? '')?.[1]}`)).toEqual([[]]);
  });

  test('concurrent requests share statements, and each gets its own page', async () => {
    await insert(`SELECT i, 'Fir', NULL FROM generate_series(1, 500) i`);
    await insert(`VALUES (${MAX}, 'last', NULL), (${MIN}, 'first', NULL)`);
    const ids = [MIN, ...Array.from({ length: 500 }, (_, index) => String(index + 1)), MAX];
    const cursorOf = async (place: number) =>
      /cursor=([\w-]+)/.exec((await get(`/plants?limit=${place}`)).headers.link ?? '');
    const places = [0, 1, 2, 100, 499, 501];
    const cursors = await Promise.all(
      places.map(async (place) => (place === 0 ? '' : `&cursor=${(await cursorOf(place))?.[1]}`)),
    );
    const last = `&cursor=${Buffer.from(MAX).toString('base64url')}`;
    const wanted = Array.from({ length: 60 }, (_, index) => ({
      place: index % 7,
      limit: [1, 7, 100, 1000][index % 4] ?? 1,
    }));
    const pages = await Promise.all(
      wanted.map(({ place, limit }) => get(`/plants?limit=${limit}${cursors[place] ?? last}`)),
    );
    for (const [index, { text, headers }] of pages.entries()) {
      const { place, limit } = wanted[index] ?? { place: 0, limit: 0 };
      const start = places[place] ?? ids.length;
      expect([...text.matchAll(/"id":(-?\d+)/g)].map(([, id]) => id)).toEqual(ids.slice(start, start + limit));
      expect(headers.link !== undefined).toBe(start + limit < ids.length);
    }
  });

  test('returns each plant exactly as GET /plants/{id} does, with any name and tag', async () => {
    const anyText = fc.oneof(
      fc.constantFrom(
        '',
        'null',
        'a,b',
        '", "',
        '\\',
        '\\"',
        '"}, {"',
        '\n\t\r\b\f\u0001\u007f',
        '\u2028é木🌳',
        ',"tag":null',
      ),
      fc.string({ unit: 'grapheme' }).filter((characters) => !characters.includes('\0')),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ name: anyText, tag: fc.option(anyText) }), { maxLength: 20 }),
        async (plants) => {
          await service.database.query('TRUNCATE plants');
          // All names have a space, for the search that finds all of them.
          const [names, tags] = [plants.map(({ name }) => `${name} `), plants.map(({ tag }) => tag)];
          await service.database.query(
            `INSERT INTO plants (name, tag, id)
           SELECT * FROM unnest($1::text[], $2::text[]) WITH ORDINALITY`,
            [names, tags],
          );
          const each = await Promise.all(plants.map((_, index) => get(`/plants/${index + 1}`)));
          const whole = `[${each.map(({ text }) => text).join()}]`;
          expect(JSON.parse(whole)).toEqual(
            plants.map(({ tag }, index) => ({ id: index + 1, name: names[index], ...(tag !== null && { tag }) })),
          );
          expect((await get('/plants')).text).toBe(whole);
          expect((await get('/plants?q=%20')).text).toBe(whole);
        },
      ),
      { numRuns: propertyRuns(50) },
    );
  });

  test('returns a full page even if one plant is far longer than the others', async () => {
    await insert(`SELECT i, repeat('木', CASE i WHEN 50 THEN 300000 ELSE 1 END), NULL FROM generate_series(1, 200) i`);
    expect((await walk('/plants')).map(({ length }) => length)).toEqual([100, 100]);
    // Concurrent requests share statements; some of the pages contain the long plant.
    const last = Buffer.from('100').toString('base64url');
    const pages = await Promise.all(
      Array.from({ length: 24 }, (_, index) => get(index % 3 === 0 ? '/plants' : `/plants?cursor=${last}`)),
    );
    for (const [index, { body }] of pages.entries()) {
      expect(body).toHaveLength(100);
      expect(body[49].name).toHaveLength(index % 3 === 0 ? 300_000 : 1);
    }
  });

  test('returns a shorter page if its plants are very long', async () => {
    await insert(`SELECT i, repeat('x', 250000), NULL FROM generate_series(1, 10) i`);
    await insert(`VALUES (11, repeat('x', 9000000), NULL)`);
    expect(await walk('/plants?limit=1000')).toEqual([['1', '2', '3', '4'], ['5', '6', '7', '8'], ['9', '10'], ['11']]);
  });

  test('links to the next page with a query that keeps the other parameters', async () => {
    await insert(`SELECT i, 'a&b > c', 'tag "é"' FROM generate_series(1, 3) i`);
    const query = `tag=${encodeURIComponent('tag "é"')}&q=${encodeURIComponent('A&B >')}&limit=1&id=1&id=2&id=3`;
    const { link = '' } = (await get(`/plants?${query}`)).headers;
    expect(link).toMatch(/^<\?[\x21-\x3b=\x3f-\x7e]+>; rel="next"$/);
    const next = new URL(/<(.+)>/.exec(link)?.[1] ?? '', 'http://localhost').searchParams;
    expect(Object.fromEntries(next)).toMatchObject({ tag: 'tag "é"', q: 'A&B >', limit: '1' });
    expect([next.getAll('id'), next.get('cursor')]).toEqual([['1', '2', '3'], expect.any(String)]);
    expect(await walk(`/plants?${query}`)).toEqual([['1'], ['2'], ['3']]);
  });

  test('links to the next page under the base path, and below a prefix that a proxy strips', async () => {
    const based = await start({ BASE_PATH: '/api/v1' }, { databaseUrl: service.database.url });
    await insert(`VALUES (1, 'Fir', NULL), (2, 'Fir', NULL)`);
    const response = await based.agent.get('/api/v1/plants?limit=1').set('Authorization', `Bearer ${service.token}`);
    const [, link = ''] = /^<(.+)>;/.exec(response.headers.link ?? '') ?? [];
    expect(new URL(link, 'https://example.com/garden/api/v1/plants?limit=1').href).toMatch(
      /^https:\/\/example\.com\/garden\/api\/v1\/plants\?limit=1&cursor=/,
    );
  });

  test('filters by the exact tag, even if it is empty or longer than a B-tree index allows', async () => {
    const long = 'long '.repeat(20_000);
    await insert(`VALUES (1, 'a', 'x'), (2, 'b', 'X'), (3, 'c', ''), (4, 'd', NULL), (5, 'e', 'x y')`);
    for (const id of [6, 7]) expect((await service.post({ id, name: 'f', tag: long })).status).toBe(200);
    expect(await walk('/plants?tag=x')).toEqual([['1']]);
    expect(await walk('/plants?tag=x%20y')).toEqual([['5']]);
    expect(await walk('/plants?tag=x+y')).toEqual([['5']]);
    expect(await walk('/plants?tag=')).toEqual([['3']]);
    expect(await walk('/plants?tag=nothing')).toEqual([[]]);
  });

  test('searches for a part of the name, ignoring case, without treating any character as a pattern', async () => {
    await insert(
      `VALUES (1, 'Red MAPLE', NULL), (2, 'maple', 'x'), (3, '100%_\\', NULL), (4, 'Érable', NULL), (5, '', NULL)`,
    );
    for (const [q, ids] of [
      ['maple', ['1', '2']],
      ['D mApL', ['1']],
      ['érAB', ['4']],
      ['%', ['3']],
      ['_', ['3']],
      ['\\', ['3']],
      ['0%_\\', ['3']],
      ['a_l', []],
    ] as const) {
      expect([q, await walk(`/plants?q=${encodeURIComponent(q)}`)]).toEqual([q, [ids]]);
    }
    expect(await walk('/plants?q=maple&tag=x')).toEqual([['2']]);
  });

  testUnless(onCitus('shards count the scans of an index'), 'uses an index to filter by tag', async () => {
    await insert(`SELECT i, md5(i::text), md5(i::text) FROM generate_series(1, 5000) i`);
    await service.database.query('ANALYZE plants');
    const [{ tag } = {}] = await service.database.query('SELECT tag FROM plants WHERE id = 2500');
    const scans = async () => {
      const [row] = await service.database.query(
        "SELECT idx_scan::int AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'plants_tag_hash_idx'",
      );
      return row?.scans;
    };
    const before = await scans();
    expect(before).toEqual(expect.any(Number));
    expect(await walk(`/plants?tag=${tag}`)).toEqual([['2500']]);
    // A session reports its counts at most once a second, at the end of a statement.
    await waitUntil('a scan of the index', async () => {
      await get(`/plants?tag=${tag}`);
      return (await scans()) !== before;
    });
  });

  test.each([
    ...['limit=0', 'limit=1001', 'limit=-1', 'limit=2147483648', 'limit=1.5', 'limit=', 'limit=x', 'limit=1&limit=2'],
    ...['cursor=', 'cursor=x', 'cursor=MS41', 'cursor=OTIyMzM3MjAzNjg1NDc3NTgwOA', 'cursor=MQ&cursor=MQ'],
    // Cut or changed, so that they would be decoded as 200 and 2004.
    ...['cursor=MjAwN', 'cursor=MjAwNB', 'cursor=Mj%20AwNA', 'cursor=MjAwNA%3D%3D'],
    ...['page=2', 'id=', 'id=x', 'id=1&id=1.5', 'id=9223372036854775808', `id=1${'&id=1'.repeat(100)}`],
    ...['q=', `q=${'x'.repeat(101)}`, 'tag=%00', 'q=%00', 'tag=%FF', 'q=%zz', 'q=a&q=b', 'q=%ED%A0%80'],
  ])('code 1005: ?%s', async (query) => {
    const response = await get(`/plants?${query}`);
    expect([response.status, response.body.error]).toEqual([400, 1005]);
    expect(response.body.message).toMatch(/^The (parameter (limit|cursor|tag|q|page|id[.\d]*)|query) /);
  });

  test('GET /plants?id= reads several plants at once, in the order of ids, with other parameters if wanted', async () => {
    await insert("VALUES (-9223372036854775808, 'Fir', 'x'), (2, 'Yew', NULL), (3, 'Fir', NULL), (4, 'Fir', 'x')");
    expect(await walk('/plants?id=4&id=-9223372036854775808&id=4&id=5')).toEqual([['-9223372036854775808', '4']]);
    expect(await walk('/plants?id=3')).toEqual([['3']]);
    expect(await walk('/plants?id=2&id=3&id=4&limit=2')).toEqual([['2', '3'], ['4']]);
    expect(await walk('/plants?id=2&id=3&id=4&q=fir&tag=x')).toEqual([['4']]);
    expect(await walk('/plants?id=5')).toEqual([[]]);
  });

  test.each([
    ['id=abc', 'id', '"abc"'],
    ['id=1&id=abc', 'id', '"abc"'],
    ['limit=x', 'limit', '"x"'],
    ['limit=1&limit=2', 'limit', 'an array of 2 values'],
  ])('?%s names the wrong value', async (query, name, shown) => {
    const { status, body } = await get(`/plants?${query}`);
    expect([status, body.message]).toEqual([
      400,
      expect.stringMatching(`^The parameter ${name} must be .*, not ${shown}.$`),
    ]);
  });

  test('HEAD gets the response to GET without the body', async () => {
    await insert(`VALUES (1, 'Fir', NULL), (2, 'Fir', NULL)`);
    const list = await service.request('head', '/plants?limit=1');
    expect([list.status, list.text, list.headers.link]).toEqual([
      200,
      undefined,
      expect.stringContaining('rel="next"'),
    ]);
    const one = await service.request('head', '/plants/1');
    const { etag, 'content-length': length } = (await get('/plants/1')).headers;
    expect([one.status, one.text, one.headers.etag, one.headers['content-length']]).toEqual([
      200,
      undefined,
      etag,
      length,
    ]);
    expect((await service.request('head', '/plants/3')).status).toBe(404);
  });

  test('concurrent inserts and deletes never make a listing skip or repeat other plants', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.record({ add: fc.boolean(), id: fc.integer({ min: -40, max: 40 }) }), { maxLength: 60 }),
        async (limit, changes) => {
          await service.database.query('TRUNCATE plants');
          await insert(`SELECT i, 'Fir', NULL FROM generate_series(-40, 40, 2) i`);
          const stayed = new Set(Array.from({ length: 41 }, (_, index) => String(index * 2 - 40)));
          const waiting = changes.values();
          const pages = await walk(`/plants?limit=${limit}`, async () => {
            for (const { add, id } of waiting.take(4)) {
              if (add) await insert(`VALUES (${id}, 'Fir', NULL) ON CONFLICT DO NOTHING`);
              else {
                await service.database.query(`DELETE FROM plants WHERE id = ${id}`);
                stayed.delete(String(id));
              }
            }
          });
          const ids = pages.flat();
          expect(ids).toEqual([...new Set(ids)].sort((a, b) => Number(a) - Number(b)));
          expect(ids).toEqual(expect.arrayContaining([...stayed]));
        },
      ),
      { numRuns: propertyRuns(20) },
    );
  });
});
