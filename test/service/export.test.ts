import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { lockPlants } from '../support/lock-plants.ts';
import { blockedStatements, waitForBlocked } from '../support/lock-table.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { readToEnd, useExports } from '../support/use-exports.ts';
import { waitUntil } from '../support/wait-until.ts';

const client = useExports();
const { insert, insertMany, exportAs, textOf, transactions, lastLine, openExport } = client;
const noView = onCitus('no view can take the place of plants');

describe('GET /plants/export', () => {
  test('returns all plants ordered by id, as NDJSON', async () => {
    await insert(
      `VALUES (9223372036854775807, 'Fir', 'Abies'), (-9223372036854775808, 'Yew', ''), (0, E'a"\\r\\n\\u00e9', NULL)`,
    );
    const response = await exportAs();
    expect(response.body).toBe(
      '{"id":-9223372036854775808,"name":"Yew","tag":""}\n' +
        '{"id":0,"name":"a\\"\\r\\né"}\n' +
        '{"id":9223372036854775807,"name":"Fir","tag":"Abies"}\n',
    );
    expect(response.headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'content-disposition': 'attachment; filename="plants.ndjson"',
      'cache-control': 'no-store',
      'transfer-encoding': 'chunked',
    });
    expect(lastLine()).toMatchObject({ msg: 'request completed', status: 200, rows: 3, token: 'test' });
  });

  test('returns CSV', async () => {
    await insert(`VALUES (1, 'Fir', NULL), (2, ' a"', ''), (3, E'\\r\\n', 'x,y')`);
    const response = await exportAs('?format=csv');
    expect(response.body).toBe('id,name,tag\n1,Fir,\n2," a""",""\n3,"\r\n","x,y"\n');
    expect(response.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    expect(response.headers['content-disposition']).toBe('attachment; filename="plants.csv"');
  });

  test('is empty without plants', async () => {
    expect(await textOf()).toBe('');
    expect(await textOf('?format=csv')).toBe('id,name,tag\n');
  });

  test('filters by tag, by a text in the name, or by both', async () => {
    await insert(`VALUES (1, 'Silver fir', 'a'), (2, 'Noble Fir', 'b'), (3, 'Yew', 'a'), (4, 'fir%', '')`);
    const ids = async (query: string) => [...(await textOf(query)).matchAll(/"id":(\d)/g)].map(([, id]) => Number(id));
    expect(await ids('?tag=a')).toEqual([1, 3]);
    expect(await ids('?tag=')).toEqual([4]);
    expect(await ids('?q=FIR')).toEqual([1, 2, 4]);
    expect(await ids('?q=%25')).toEqual([4]);
    expect(await ids('?q=fir&tag=a')).toEqual([1]);
    expect(await ids('?q=oak')).toEqual([]);
  });

  test('returns every plant once, over many pages, some of which end early because their plants are long', async () => {
    await insert(
      `SELECT id * 7 - 100000, 'n' || id || repeat('long ', CASE WHEN id BETWEEN 6000 AND 6004 THEN 120000 ELSE 0 END),
        CASE WHEN id % 3 = 0 THEN 't' END FROM generate_series(1, 23001) AS id`,
    );
    const rows = (await client.service.database.query('SELECT id, name, tag FROM plants ORDER BY id')).map(
      ({ id, name, tag }) => `{"id":${id},"name":"${name}"${tag === null ? '' : `,"tag":"${tag}"`}}\n`,
    );
    expect(await textOf()).toBe(rows.join(''));
    const tagged = await textOf('?tag=t&format=csv');
    expect(tagged.split('\n').length - 2).toBe(7667);
  });

  test('returns plants as large as a body may be', async () => {
    const name = '\u00e9"'.repeat(300_000);
    await client.service.database.query('INSERT INTO plants SELECT id, $1 FROM generate_series(1, 5) AS id', [name]);
    const text = await textOf();
    expect(text).toBe([1, 2, 3, 4, 5].map((id) => `${JSON.stringify({ id, name })}\n`).join(''));
  });

  test.each(['?format=xml', '?format=', '?format=csv&format=csv', '?tag=a&tag=b', '?q=%00', '?tag=%ff'])(
    'code 1005: %s',
    async (query) => {
      const response = await client.service.request('get', `/plants/export${query}`);
      expect([response.status, response.body.error]).toEqual([400, 1005]);
    },
  );

  testUnless(noView, 'with q may sort, so that the index of names can be used; without q it may not', async () => {
    const { query } = client.service.database;
    await insert("VALUES (1, 'Fir', 'x')");
    await query(`
      ALTER TABLE plants RENAME TO stored;
      CREATE VIEW plants AS SELECT id, name || current_setting('enable_sort') AS name, tag FROM stored`);
    try {
      const names = [await textOf('?q=fir'), await textOf('?tag=x'), await textOf()].map(
        (text) => JSON.parse(text).name,
      );
      expect(names).toEqual(['Firon', 'Firoff', 'Firoff']);
    } finally {
      await query('DROP VIEW plants; ALTER TABLE stored RENAME TO plants');
    }
  });

  test('needs HTTP/1.1, because only chunks show that it is complete', async () => {
    const socket = connect(Number(new URL(client.service.baseUrl).port), '127.0.0.1');
    socket.write(`GET /plants/export HTTP/1.0\r\nHost: x\r\nAuthorization: Bearer ${client.service.token}\r\n\r\n`);
    const text = await readToEnd(socket);
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    expect(text).toContain('"error":1006');
    expect(text).toContain('proxy_http_version 1.1');
  });

  test('ends when its client disconnects before the first plant', async () => {
    const unlock = await lockPlants(client.service.database.url);
    const socket = await openExport();
    await waitForBlocked(client.service.database, 'FROM plants');
    socket.destroy();
    await waitUntil('its line', () => lastLine() !== undefined);
    expect(lastLine()).toMatchObject({ level: 'info', msg: 'request aborted' });
    await waitUntil(
      'its statement to end',
      async () => (await blockedStatements(client.service.database)).length === 0,
    );
    await unlock();
  });

  test('responds to HEAD without a body', async () => {
    await insertMany();
    const response = await client.service.request('head', '/plants/export?format=csv');
    expect([response.status, response.headers['content-type']]).toEqual([
      200,
      'text/csv; charset=utf-8; header=present',
    ]);
    await waitUntil('the end of the transaction', async () => (await transactions()) === 0);
  });

  test('is not a plant: other methods are not allowed', async () => {
    for (const method of ['put', 'patch', 'delete'] as const) {
      const response = await client.service.request(method, '/plants/export');
      expect([response.status, response.body.error]).toEqual([405, 1202]);
      expect(response.headers.allow).toBe('GET, HEAD, OPTIONS');
    }
  });

  test('needs a token with the scope plants:read', async () => {
    expect((await client.service.agent.get('/plants/export')).status).toBe(401);
    const token = await client.service.tokens.create({ name: 'writer', scopes: ['plants:write'], expiresAt: null });
    const response = await client.service.agent.get('/plants/export').set('Authorization', `Bearer ${token}`);
    expect([response.status, response.body.error]).toEqual([403, 1102]);
  });
});
