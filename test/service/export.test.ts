import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { SCOPES } from '../../src/tokens/token.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { blockedStatements, waitForBlocked } from '../support/lock-table.ts';
import { scrape } from '../support/scrape.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { patientLookUps, startTestService, type TestService } from '../support/test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

jest.setTimeout(60_000);

const { exports: EXPORTS } = limitRequests(readConfig({}));
const QUICK = { exports: { ...EXPORTS, clientCheckInterval: 100 } };

const noView = onCitus('no view can take the place of plants');
const noSnapshot = onCitus('each shard is read when the statement reaches it');
let service: TestService;

/** Of 10 kB each: more than all buffers between PostgreSQL and a client that reads nothing hold. */
const MANY = 5000;

const insert = (sql: string) => service.database.query(`INSERT INTO plants (id, name, tag) ${sql}`);
/** More data than the buffers of a connection hold. */
const insertMany = (count = MANY) =>
  insert(`SELECT id, repeat('x', 10000), NULL FROM generate_series(1, ${count}) AS id`);
const exportAs = (query = '') =>
  service
    .request('get', `/plants/export${query}`)
    .buffer(true)
    .parse(asText as never);
const asText = (response: NodeJS.ReadableStream, done: (error: Error | null, text: string) => void) => {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('end', () => done(null, Buffer.concat(chunks).toString()));
};
/** An export is in progress until its transaction has ended, a moment after its response. There may be two at a time. */
const earlierExportsEnd = () =>
  waitUntil('the end of earlier exports', async () => {
    const { value } = await service.metrics();
    return value('plant_store_exports_in_progress') === 0;
  });
const textOf = async (query = ''): Promise<string> => {
  await earlierExportsEnd();
  const { status, body } = await exportAs(query);
  expect(status).toBe(200);
  return body;
};
/** How many statements read plants; a request may also be looking up its token. */
const transactions = async () =>
  (
    await service.database.query(
      `SELECT pid FROM pg_stat_activity
       WHERE datname = current_database() AND backend_xmin IS NOT NULL AND query LIKE '%FROM plants %' AND pid <> pg_backend_pid()`,
    )
  ).length;
const lastLine = () => service.log.findLast(({ path }) => path === '/plants/export');

/** Requests an export on a separate connection, without reading the response. */
const openExport = async (query = '', token = service.token): Promise<Socket> => {
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.pause();
  socket.write(
    `GET /plants/export${query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  return socket;
};
let others = 0;
/** A token may have half of the slots. */
const otherToken = () => service.tokens.create({ name: `other ${others++}`, scopes: SCOPES, expiresAt: null });
const readToEnd = async (socket: Socket): Promise<string> => {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.resume();
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
};
const LAST_CHUNK = '\r\n0\r\n\r\n';

describe('GET /plants/export', () => {
  beforeAll(async () => {
    service = await startTestService({ METRICS_PORT: '0' }, { requestLimits: QUICK });
  });
  afterAll(() => service.stop());
  beforeEach(async () => {
    await earlierExportsEnd();
    await service.database.query('TRUNCATE plants');
    service.log.splice(0);
  });

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
      'content-type': 'application/x-ndjson',
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
    const rows = (await service.database.query('SELECT id, name, tag FROM plants ORDER BY id')).map(
      ({ id, name, tag }) => `{"id":${id},"name":"${name}"${tag === null ? '' : `,"tag":"${tag}"`}}\n`,
    );
    expect(await textOf()).toBe(rows.join(''));
    const tagged = await textOf('?tag=t&format=csv');
    expect(tagged.split('\n').length - 2).toBe(7667);
  });

  test('returns plants as large as a body may be', async () => {
    const name = '\u00e9"'.repeat(300_000);
    await service.database.query('INSERT INTO plants SELECT id, $1 FROM generate_series(1, 5) AS id', [name]);
    const text = await textOf();
    expect(text).toBe([1, 2, 3, 4, 5].map((id) => `${JSON.stringify({ id, name })}\n`).join(''));
  });

  test.each(['?format=xml', '?format=', '?format=csv&format=csv', '?tag=a&tag=b', '?q=%00', '?tag=%ff'])(
    'code 1005: %s',
    async (query) => {
      const response = await service.request('get', `/plants/export${query}`);
      expect([response.status, response.body.error]).toEqual([400, 1005]);
    },
  );

  testUnless(noView, 'with q may sort, so that the index of names can be used; without q it may not', async () => {
    const { query } = service.database;
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
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    socket.write(`GET /plants/export HTTP/1.0\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\n\r\n`);
    const text = await readToEnd(socket);
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    expect(text).toContain('"error":1006');
    expect(text).toContain('proxy_http_version 1.1');
  });

  test('ends when its client disconnects before the first plant', async () => {
    const unlock = await lockPlants(service.database.url);
    const socket = await openExport();
    await waitForBlocked(service.database, 'FROM plants');
    socket.destroy();
    await waitUntil('its line', () => lastLine() !== undefined);
    expect(lastLine()).toMatchObject({ level: 'info', msg: 'request aborted' });
    await waitUntil('its statement to end', async () => (await blockedStatements(service.database)).length === 0);
    await unlock();
  });

  test('responds to HEAD without a body', async () => {
    await insertMany();
    const response = await service.request('head', '/plants/export?format=csv');
    expect([response.status, response.headers['content-type']]).toEqual([
      200,
      'text/csv; charset=utf-8; header=present',
    ]);
    await waitUntil('the end of the transaction', async () => (await transactions()) === 0);
  });

  test('is not a plant: other methods are not allowed', async () => {
    for (const method of ['put', 'patch', 'delete'] as const) {
      const response = await service.request(method, '/plants/export');
      expect([response.status, response.body.error]).toEqual([405, 1202]);
      expect(response.headers.allow).toBe('GET, HEAD, OPTIONS');
    }
  });

  test('needs a token with the scope plants:read', async () => {
    expect((await service.agent.get('/plants/export')).status).toBe(401);
    const token = await service.tokens.create({ name: 'writer', scopes: ['plants:write'], expiresAt: null });
    const response = await service.agent.get('/plants/export').set('Authorization', `Bearer ${token}`);
    expect([response.status, response.body.error]).toEqual([403, 1102]);
  });

  testUnless(noSnapshot, 'is as of a single point in time, despite concurrent writes', async () => {
    // Exactly one plant of each pair exists at any time, and the sum of all names is constant.
    await insert(`SELECT id * 2, id % 100, NULL FROM generate_series(1, 30000) AS id`);
    const sum = Number((await service.database.query('SELECT sum(name::int) AS sum FROM plants'))[0]?.sum);
    let stop = false;
    let moved = 0;
    const write = async () => {
      while (!stop) {
        const id = 1 + Math.floor(Math.random() * 30_000);
        await service.database.query(
          `WITH gone AS (DELETE FROM plants WHERE id IN (${2 * id}, ${2 * id + 1}) RETURNING id, name)
           INSERT INTO plants SELECT CASE WHEN id % 2 = 0 THEN id + 1 ELSE id - 1 END, name FROM gone`,
        );
        moved += 1;
      }
    };
    const writers = [write(), write()];
    for (let round = 0; round < 5; round++) {
      const names = [...(await textOf()).matchAll(/"name":"(\d+)"/g)].map(([, name]) => Number(name));
      expect([names.length, names.reduce((a, b) => a + b)]).toEqual([30_000, sum]);
    }
    stop = true;
    await Promise.all(writers);
    expect(moved).toBeGreaterThan(10);
  });

  testUnless(noSnapshot, 'does not see changes after its first page', async () => {
    await insertMany();
    const socket = await openExport();
    await waitUntil('the export to begin', async () => (await transactions()) === 1);
    await service.database.query(`UPDATE plants SET name = 'changed'`);
    await service.database.query('DELETE FROM plants WHERE id > 1000');
    const received = await readToEnd(socket);
    expect(received).toContain(`{"id":${MANY},`);
    expect(received).not.toContain('changed');
    expect(received.endsWith(LAST_CHUNK)).toBe(true);
  });

  test('stops when its client disconnects, and releases the database connection', async () => {
    await insertMany();
    const socket = await openExport();
    await once(socket, 'readable');
    socket.destroy();
    await waitUntil('the export to end', async () => (await transactions()) === 0);
    await waitUntil('its line', () => lastLine() !== undefined);
    expect(lastLine()).toMatchObject({ level: 'info', msg: 'request aborted', status: 200 });
    expect(Number(lastLine()?.rows ?? 0)).toBeLessThan(MANY);
  });

  test('is limited to two at a time, one of each token: more get code 1500 until one ends', async () => {
    await insertMany();
    const sockets = [await openExport()];
    await waitUntil('the first to begin', async () => (await transactions()) === 1);
    const second = await service.request('get', '/plants/export');
    expect([second.status, second.body]).toEqual([
      503,
      { error: 1500, message: 'Too many exports of this token are in progress. Try again later.' },
    ]);
    sockets.push(await openExport('', await otherToken()));
    await waitUntil('both to begin', async () => (await transactions()) === 2);
    const response = await service.request('get', '/plants/export');
    expect([response.status, response.body.error, response.headers['retry-after']]).toEqual([503, 1500, '1']);
    // Exports do not use the connections of other requests.
    expect((await service.request('get', '/plants?limit=1')).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await waitUntil('both to end', async () => (await transactions()) === 0);
    expect((await service.request('head', '/plants/export')).status).toBe(200);
  });

  test('has no last chunk if the database connection is lost', async () => {
    await insertMany();
    const socket = await openExport();
    await once(socket, 'readable');
    await service.database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()',
    );
    const text = await readToEnd(socket);
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(text.endsWith(LAST_CHUNK)).toBe(false);
    await waitUntil('its line', () => lastLine() !== undefined);
    expect(lastLine()).toMatchObject({ level: 'error', msg: 'request failed', status: 200, error: 1501 });
    expect((await service.request('head', '/plants/export')).status).toBe(200);
  });
});

describe('an export', () => {
  afterEach(() => service.stop());

  test('is disconnected if its client stops reading, but not if it reads slowly', async () => {
    const stallTimeout = 1500;
    // Shorter than the stall timeout; it does not apply to exports.
    const requestLimits = { ...patientLookUps, connectionCheckInterval: 100, exports: { ...EXPORTS, stallTimeout } };
    service = await startTestService({ REQUEST_TIMEOUT: '1' }, { requestLimits });
    // More than all sockets between PostgreSQL and the client hold, with a container's proxy among them.
    await insertMany(8000);
    const openedAt = performance.now();
    const [stalled, slow] = [await openExport(), await openExport('', await otherToken())];
    let received = 0;
    slow.on('data', ({ length }: Buffer) => {
      received += length;
      slow.pause();
    });
    const read = setInterval(() => slow.resume(), 50);
    await waitUntil('both to begin', async () => (await transactions()) === 2);
    await waitUntil('the stalled one to end', async () => (await transactions()) === 1);
    expect(performance.now() - openedAt).toBeGreaterThanOrEqual(stallTimeout);
    expect((await readToEnd(stalled)).endsWith(LAST_CHUNK)).toBe(false);
    const before = received;
    await waitUntil('the slow one to receive more', () => received > before + 1_000_000);
    expect(await transactions()).toBe(1);
    clearInterval(read);
    slow.destroy();
  });

  test('fails with an Error if the database is not migrated or unreachable', async () => {
    service = await startTestService();
    await service.database.query('ALTER TABLE plants RENAME TO other');
    const notMigrated = await service.request('get', '/plants/export');
    expect([notMigrated.status, notMigrated.body.error]).toEqual([503, 1502]);
    await service.database.query('ALTER TABLE other RENAME TO plants');
    expect((await service.request('get', '/plants/export')).status).toBe(200);

    const { administer, name } = service.database;
    await administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await administer(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`);
    const away = await service.request('get', '/plants/export?format=csv');
    expect([away.status, away.body.error, away.headers['content-disposition']]).toEqual([503, 1501, undefined]);
    await administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    expect((await service.request('get', '/plants/export')).status).toBe(200);
  });

  test('is disconnected when the service stops', async () => {
    service = await startTestService({}, { settings: { shutdownTimeout: 500 } });
    await insertMany();
    const socket = await openExport();
    await waitUntil('it to begin', async () => (await transactions()) === 1);
    // Its client does not read, so that only the stop can end it.
    await service.stopServer();
    expect((await readToEnd(socket)).endsWith(LAST_CHUNK)).toBe(false);
    await waitUntil('its end in PostgreSQL', async () => (await transactions()) === 0);
  });

  test('is counted', async () => {
    service = await startTestService({ METRICS_PORT: '0' }, { requestLimits: QUICK });
    await insertMany();
    const line = service.log.find(({ msg }) => msg === 'metrics are served');
    const value = async (name: string) => (await scrape(`http://127.0.0.1:${line?.port}/metrics`)).value(name);
    expect(await value('plant_store_exports_in_progress')).toBe(0);
    const socket = await openExport();
    await waitUntil('it to begin', async () => (await value('plant_store_exports_in_progress')) === 1);
    socket.destroy();
    await waitUntil('it to end', async () => (await value('plant_store_exports_in_progress')) === 0);
    const before = (await value('plant_store_exported_plants_total')) ?? 0;
    await textOf();
    expect(await value('plant_store_exported_plants_total')).toBe(before + MANY);
  });
});
