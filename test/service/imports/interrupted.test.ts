import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { constants, gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { readConfig } from '../../../src/config/config.ts';
import { limitRequests } from '../../../src/request-limits.ts';
import { lockTable, terminateBlocked, waitForBlocked } from '../../support/lock-table.ts';
import { isOnCitus, onCitus, unless } from '../../support/skip.ts';
import { answerOf, counts, lines, NDJSON, numbered, PATIENCE, useImports } from '../../support/use-imports.ts';
import { waitUntil } from '../../support/wait-until.ts';

const client = useImports();
const { start, importPlants, openImport, count, sessions, metrics, ended } = client;
const { imports: IMPORTS } = limitRequests(readConfig({}));
const GZIP = { 'Content-Encoding': 'gzip' };
const NOTHING_STORED = 'Nothing is stored. Repeat the import.';

/** More than a slice, so that rows are in a temporary table while the client pauses. */
const SLICE = numbered(1, 5001);
const staged = () => waitUntil('rows in a temporary table', async () => (await sessions()).length > 0);
const { test: withTrigger } = unless(onCitus('plants can have no trigger'));
const inProgress = async () => (await metrics()).value('plant_store_imports_in_progress');

describe('an import is interrupted, and nothing is stored, by', () => {
  test.each([
    ['a pause', () => {}],
    ['bytes that are no row', (write: (text: string) => void) => write('\n'.repeat(1000))],
  ])('%s of a minute → 408, code 1203', async (_what, send) => {
    await start({}, {}, { imports: { ...IMPORTS, rowTimeout: 300 } });
    const request = openImport();
    request.write(SLICE);
    const timer = setInterval(() => send((text) => request.write(text)), 20);
    const answer = await answerOf(request);
    clearInterval(timer);
    request.destroy();
    const message = `The body has had no row for too long. ${NOTHING_STORED}`;
    expect(answer).toEqual({ status: 408, body: { error: 1203, message } });
    expect(await count()).toBe(0);
    expect(ended()).toMatchObject({ outcome: 'interrupted', ...counts() });
  });

  test('an invalid quote in CSV → 400', async () => {
    const csv = `id,name\n${Array.from({ length: 6000 }, (_, index) => `${index},Fir\n`).join('')}9999,"a"b\n`;
    const { status, body } = await importPlants(csv, { type: 'text/csv' });
    const message = 'The CSV has an invalid or unclosed quote in the row at line 6002. Nothing is stored.';
    expect([status, body]).toEqual([400, { error: 1000, message }]);
    expect(await count()).toBe(0);
  });

  test('an invalid byte late in it → 400', async () => {
    const bytes = Buffer.from(`${numbered(1, 9000)}{"id":9001,"name":"T\xe4nnchen"}\n`, 'latin1');
    const { status, body } = await importPlants(bytes);
    const message = expect.stringMatching(
      /^The file is not utf-8, somewhere after line 9000\. .* Nothing is stored\.$/,
    );
    expect([status, body]).toEqual([400, { error: 1000, message }]);
    expect(await count()).toBe(0);
    const again = await importPlants(bytes, { type: `${NDJSON}; charset=latin1` });
    expect(again).toMatchObject({ status: 200, body: counts(9001) });
  });

  const gzipOf = (rows: string, behind = '') =>
    Buffer.concat([gzipSync(rows, { finishFlush: constants.Z_SYNC_FLUSH }), Buffer.from(behind)]);

  test.each<[string, string, Record<string, string>, string | Buffer, object]>([
    ['failed rows', '?maxErrors=0', {}, `${SLICE}{}\n`, counts(0, 0, 0, 1)],
    ['compressed rows that fail', '?maxErrors=0', GZIP, gzipOf('{}\n'), counts(0, 0, 0, 1)],
    ['compressed CSV', '', { ...GZIP, 'Content-Type': 'text/csv' }, gzipOf('id,name\n1,"a"b\n2,c\n'), { error: 1000 }],
    ['corrupt gzip', '', GZIP, gzipOf(SLICE, 'x'.repeat(99)), { error: 1000 }],
    ['data behind gzip', '', GZIP, Buffer.concat([gzipSync(''), Buffer.from('\0x')]), { error: 1000 }],
  ])('%s, although the client pauses → 400', async (_title, query, headers, bytes, body) => {
    const request = openImport(query, headers);
    const startedAt = performance.now();
    request.write(bytes);
    expect(await answerOf(request)).toMatchObject({ status: 400, body });
    // Not only once the pause is too long.
    expect(performance.now() - startedAt).toBeLessThan(PATIENCE / 2);
    expect(await count()).toBe(0);
  });

  test('a database connection that is lost while the client pauses → 503, code 1501', async () => {
    await start();
    const request = openImport();
    request.write(SLICE);
    await staged();
    const [session] = await sessions();
    await client.service.database.query('SELECT pg_terminate_backend($1::int)', [session?.pid]);
    const message = `The database connection was lost. ${NOTHING_STORED}`;
    expect(await answerOf(request)).toEqual({ status: 503, body: { error: 1501, message } });
  });

  test.each(['', '?onConflict=skip', '?onConflict=replace', '?atomic=true'])(
    'a database connection that is lost while it stores: %s → 503, code 1501',
    async (query) => {
      for (const rows of [numbered(1, 10), SLICE]) {
        const unlock = await lockTable(client.service.database.url, 'plants', 'SHARE');
        const answer = importPlants(rows, { query });
        await waitForBlocked(client.service.database, 'INSERT');
        await terminateBlocked(client.service.database);
        const message = `The database connection was lost. ${NOTHING_STORED}`;
        expect(await answer).toMatchObject({ status: 503, body: { error: 1501, message } });
        await unlock();
        expect(await count()).toBe(0);
      }
    },
  );

  test('a plant that another transaction has locked for too long → 503, code 1500', async () => {
    await start({}, {}, { imports: { ...IMPORTS, lockTimeout: 300 } });
    await importPlants(numbered(17, 17));
    const other = new Client(client.service.database.url);
    await other.connect();
    await other.query('BEGIN; SELECT FROM plants WHERE id = 17 FOR UPDATE');
    const { status, body } = await importPlants(SLICE.replaceAll('Fir', 'Yew'), { query: '?onConflict=replace' });
    await other.end();
    const message = `Another transaction has locked a plant. ${NOTHING_STORED}`;
    expect([status, body]).toEqual([503, { error: 1500, message }]);
    expect(await count()).toBe(1);
  });

  test.each(['', '?onConflict=replace', '?atomic=true', '?dryRun=true'])(
    'a database that is not migrated: %s → 503, code 1502',
    async (query) => {
      await start();
      await client.service.database.query('ALTER TABLE plants RENAME TO other');
      const { status, body } = await importPlants(SLICE, { query });
      const message = expect.stringContaining(NOTHING_STORED);
      expect([status, body]).toMatchObject([503, { error: 1502, message }]);
    },
  );

  test('a client that disconnects while it sends rows', async () => {
    await start();
    const request = openImport();
    request.write(SLICE);
    await staged();
    request.destroy();
    await waitUntil('the end', () => ended() !== undefined);
    expect(ended()).toMatchObject({ outcome: 'interrupted', ...counts() });
    await waitUntil('the end of its session', async () => (await sessions()).length === 0);
    expect(await count()).toBe(0);
  });

  test('a client that disconnects while rows are stored: PostgreSQL ends the statement', async () => {
    await start();
    const unlock = await lockTable(client.service.database.url, 'plants', 'SHARE');
    const request = openImport();
    request.end(SLICE);
    await waitForBlocked(client.service.database, 'INSERT');
    request.destroy();
    // Although it still waits for the lock.
    await waitUntil('the end of the statement', async () => (await sessions()).length === 0, { patience: 3000 });
    await unlock();
    await waitUntil('the end', () => ended() !== undefined);
    expect(await count()).toBe(0);
  });

  test('a disconnected client, even if much of its body is still to be decompressed', async () => {
    await start({ METRICS_PORT: '0' });
    const bomb = gzipSync(Buffer.alloc(60_000_000, ' \n'));
    const request = openImport('', { ...GZIP, 'Content-Length': String(bomb.length) });
    request.end(bomb);
    await waitUntil('the import to begin', async () => (await inProgress()) === 1);
    request.destroy();
    // Decompressing and reading the rest would take three times as long.
    await waitUntil('the import to end', async () => (await inProgress()) === 0, { patience: 5000 });
    expect(ended()).toMatchObject({ outcome: 'interrupted' });
  });

  const STOPPED = { error: 1504, message: `The service is stopping. ${NOTHING_STORED}` };

  test('a shutdown while the client sends rows → 503, code 1504', async () => {
    await start({}, { shutdownTimeout: 1000 });
    const request = openImport();
    request.write(SLICE);
    await staged();
    const stopping = client.service.stopServer();
    expect(await answerOf(request)).toEqual({ status: 503, body: STOPPED });
    await stopping;
    expect(await count()).toBe(0);
  });

  test.each(['error', 'skip', 'replace'])('a shutdown while rows are stored: onConflict=%s', async (onConflict) => {
    await start({}, { shutdownTimeout: 1000 });
    const unlock = await lockTable(client.service.database.url, 'plants', 'SHARE');
    const answer = importPlants(SLICE, { query: `?onConflict=${onConflict}` });
    await waitForBlocked(client.service.database, 'INSERT');
    const stopping = client.service.stopServer();
    expect(await answer).toMatchObject({ status: 503, body: STOPPED });
    await stopping;
    await unlock();
    expect(await count()).toBe(0);
  });

  test('a shutdown within a JSON array', async () => {
    await start({ METRICS_PORT: '0' }, { shutdownTimeout: 300 });
    const request = openImport('', { 'Content-Type': 'application/json' });
    request.write('[');
    await waitUntil('it', async () => (await inProgress()) === 1);
    const stopping = client.service.stopServer();
    expect(await answerOf(request)).toMatchObject({ status: 503, body: { error: 1504 } });
    await stopping;
  });
});

withTrigger.each([
  ['error', 'Repeat the import with onConflict=skip.'],
  ['skip', 'Repeat the import with onConflict=skip.'],
  ['replace', 'Repeat the import.'],
])('a connection lost during the commit leaves the outcome open: onConflict=%s → 503', async (onConflict, advice) => {
  await start();
  const { query } = client.service.database;
  // A deferred trigger runs within COMMIT. The import makes it an immediate one, and another trigger makes it deferred again.
  await query(`
    CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER linger AFTER INSERT ON plants DEFERRABLE FOR EACH ROW EXECUTE FUNCTION linger();
    CREATE FUNCTION defer() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN SET CONSTRAINTS linger DEFERRED; RETURN NULL; END';
    CREATE TRIGGER defer BEFORE INSERT ON plants EXECUTE FUNCTION defer()`);
  const answer = importPlants(lines({ id: 1, name: 'Fir' }), { query: `?onConflict=${onConflict}` });
  const committing = () => query("SELECT pid FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'PgSleep'");
  await waitUntil('the commit', async () => (await committing()).length > 0);
  await query('SELECT pg_terminate_backend($1::int)', [(await committing())[0]?.pid]);
  const message = `The database connection was lost during the commit. It is not known whether all rows are stored or none. ${advice}`;
  expect(await answer).toMatchObject({ status: 503, body: { error: 1501, message } });
  expect(ended()).toMatchObject({ outcome: 'unknown' });
});

describe('an import is not interrupted by', () => {
  test('an upload longer than REQUEST_TIMEOUT; the next request has its timeout again', async () => {
    await start({}, { requestTimeout: 800 });
    const request = openImport('', { Connection: 'keep-alive' });
    for (let id = 1; id <= 10; id++) {
      request.write(`{"id":${id},"na`);
      await setTimeout(100);
      request.write('me":"Fir"}\n');
    }
    // A pause alone may be longer, too.
    await setTimeout(1000);
    request.end();
    expect(await answerOf(request)).toMatchObject({ status: 200, body: counts(10) });
    const slow = httpRequest(`${client.service.baseUrl}/plants`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${client.service.token}`,
        'Content-Type': 'application/json',
        'Content-Length': 100,
      },
    });
    slow.on('error', () => {});
    const responded = once(slow, 'response');
    slow.write('{');
    expect(await answerOf(Object.assign(slow, { responded }))).toMatchObject({ status: 408, body: { error: 1203 } });
  });

  test('the time limits of single requests, of the database and of the role', async () => {
    await start({}, { requestTimeout: 800 });
    const { query, url } = client.service.database;
    const name = new URL(url).pathname.slice(1);
    const unlock = await lockTable(url, 'plants', 'SHARE');
    const limits = ['statement_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout'];
    // PostgreSQL has it since version 17, and Citus runs on an older one.
    if (!isOnCitus) limits.push('transaction_timeout');
    for (const limit of limits) await query(`ALTER DATABASE "${name}" SET ${limit} = '300ms'`);
    const request = openImport();
    request.write(SLICE);
    await staged();
    await setTimeout(600);
    request.end(numbered(5002, 5100));
    await waitForBlocked(client.service.database, 'INSERT');
    await setTimeout(1200);
    await unlock();
    expect(await answerOf(request)).toMatchObject({ status: 200, body: counts(5100) });
  });
});
