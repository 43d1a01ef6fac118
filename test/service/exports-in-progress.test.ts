import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { scrape } from '../support/scrape.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { patientLookUps } from '../support/test-service.ts';
import { EXPORTS, LAST_CHUNK, MANY, QUICK, readToEnd, useExports } from '../support/use-exports.ts';
import { waitUntil } from '../support/wait-until.ts';

const client = useExports();
const { insert, insertMany, textOf, transactions, lastLine, openExport, otherToken } = client;
const noSnapshot = onCitus('each shard is read when the statement reaches it');

describe('GET /plants/export', () => {
  testUnless(noSnapshot, 'is as of a single point in time, despite concurrent writes', async () => {
    // Exactly one plant of each pair exists at any time, and the sum of all names is constant.
    await insert(`SELECT id * 2, id % 100, NULL FROM generate_series(1, 30000) AS id`);
    const sum = Number((await client.service.database.query('SELECT sum(name::int) AS sum FROM plants'))[0]?.sum);
    let stop = false;
    let moved = 0;
    const write = async () => {
      while (!stop) {
        const id = 1 + Math.floor(Math.random() * 30_000);
        await client.service.database.query(
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
    await client.service.database.query(`UPDATE plants SET name = 'changed'`);
    await client.service.database.query('DELETE FROM plants WHERE id > 1000');
    const received = await readToEnd(socket);
    expect(received).toContain(`{"id":${MANY},`);
    expect(received).not.toContain('changed');
    expect(received.endsWith(LAST_CHUNK)).toBe(true);
  });

  test.each(['destroy', 'end'] as const)('stops when its client calls %s, and frees its place', async (leave) => {
    await insertMany();
    const socket = await openExport();
    await once(socket, 'readable');
    // It reads nothing more.
    socket[leave]();
    await waitUntil('the export to end', async () => (await transactions()) === 0);
    await waitUntil('its line', () => lastLine() !== undefined);
    expect(lastLine()).toMatchObject({ level: 'info', msg: 'request aborted', status: 200 });
    expect(Number(lastLine()?.rows ?? 0)).toBeLessThan(MANY);
  });

  test('is limited to two at a time, one of each token: more get code 1500 until one ends', async () => {
    await insertMany();
    const sockets = [await openExport()];
    await waitUntil('the first to begin', async () => (await transactions()) === 1);
    const second = await client.service.request('get', '/plants/export');
    expect([second.status, second.body]).toEqual([
      503,
      { error: 1500, message: 'Too many exports of this token are in progress. Try again later.' },
    ]);
    sockets.push(await openExport('', await otherToken()));
    await waitUntil('both to begin', async () => (await transactions()) === 2);
    const response = await client.service.request('get', '/plants/export');
    expect([response.status, response.body.error, response.headers['retry-after']]).toEqual([503, 1500, '1']);
    // Exports do not use the connections of other requests.
    expect((await client.service.request('get', '/plants?limit=1')).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await waitUntil('both to end', async () => (await transactions()) === 0);
    expect((await client.service.request('head', '/plants/export')).status).toBe(200);
  });

  test('has no last chunk if the database connection is lost', async () => {
    await insertMany();
    const socket = await openExport();
    await once(socket, 'readable');
    await client.service.database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()',
    );
    const text = await readToEnd(socket);
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(text.endsWith(LAST_CHUNK)).toBe(false);
    await waitUntil('its line', () => lastLine() !== undefined);
    expect(lastLine()).toMatchObject({ level: 'error', msg: 'request failed', status: 200, error: 1501 });
    expect((await client.service.request('head', '/plants/export')).status).toBe(200);
  });
});

describe('an export', () => {
  test('is disconnected if its client stops reading, but not if it reads slowly', async () => {
    const stallTimeout = 1500;
    // Shorter than the stall timeout; it does not apply to exports.
    const requestLimits = { ...patientLookUps, connectionCheckInterval: 100, exports: { ...EXPORTS, stallTimeout } };
    await client.start({ REQUEST_TIMEOUT: '1' }, { requestLimits });
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
    // A timer may fire some milliseconds early.
    expect(performance.now() - openedAt).toBeGreaterThan(stallTimeout - 100);
    expect((await readToEnd(stalled)).endsWith(LAST_CHUNK)).toBe(false);
    const before = received;
    await waitUntil('the slow one to receive more', () => received > before + 1_000_000);
    expect(await transactions()).toBe(1);
    clearInterval(read);
    slow.destroy();
  });

  test('whose client reads nothing is disconnected after a time of its own, however long REQUEST_TIMEOUT is', async () => {
    const requestLimits = { connectionCheckInterval: 100, exports: { ...EXPORTS, stallTimeout: 200 } };
    await client.start({ REQUEST_TIMEOUT: '3600' }, { requestLimits });
    await insertMany(8000);
    const stalled = await openExport();
    await waitUntil('it to begin', async () => (await transactions()) === 1);
    await waitUntil('its end', async () => (await transactions()) === 0);
    expect((await readToEnd(stalled)).endsWith(LAST_CHUNK)).toBe(false);
  });

  test('fails with an Error if the database is not migrated or unreachable', async () => {
    await client.start();
    await client.service.database.query('ALTER TABLE plants RENAME TO other');
    const notMigrated = await client.service.request('get', '/plants/export');
    expect([notMigrated.status, notMigrated.body.error]).toEqual([503, 1502]);
    await client.service.database.query('ALTER TABLE other RENAME TO plants');
    expect((await client.service.request('get', '/plants/export')).status).toBe(200);

    const { administer, name } = client.service.database;
    await administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await administer(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`);
    const away = await client.service.request('get', '/plants/export?format=csv');
    expect([away.status, away.body.error, away.headers['content-disposition']]).toEqual([503, 1501, undefined]);
    await administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    expect((await client.service.request('get', '/plants/export')).status).toBe(200);
  });

  test('is disconnected when the service stops', async () => {
    await client.start({}, { settings: { shutdownTimeout: 500 } });
    await insertMany();
    const socket = await openExport();
    await waitUntil('it to begin', async () => (await transactions()) === 1);
    // Its client does not read, so that only the stop can end it.
    await client.service.stopServer();
    expect((await readToEnd(socket)).endsWith(LAST_CHUNK)).toBe(false);
    await waitUntil('its end in PostgreSQL', async () => (await transactions()) === 0);
  });

  test('is counted', async () => {
    await client.start({ METRICS_PORT: '0' }, { requestLimits: QUICK });
    await insertMany();
    const line = client.service.log.find(({ msg }) => msg === 'metrics are served');
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
