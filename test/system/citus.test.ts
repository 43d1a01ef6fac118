import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { cursorAfter } from '../../src/plants/plant.ts';
import { findCitusObstacle, startCitusCluster } from '../support/citus-cluster.ts';
import { createCitusDatabase, databaseOn } from '../support/citus-database.ts';
import { query } from '../support/postgres-server.ts';
import { distribute } from '../support/psql.ts';
import { describeUnless } from '../support/skip.ts';
import { runCommand, type StoreProcess, startStore } from '../support/store-process.ts';
import { makeDataFolder } from '../support/temporary-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

const NDJSON = { 'Content-Type': 'application/x-ndjson' };
const PLANTS = 10_000;

describeUnless(await findCitusObstacle(), 'on Citus', () => {
  let folder: string;
  let cluster: Awaited<ReturnType<typeof startCitusCluster>>;
  let url: string;
  let store: StoreProcess;
  let token: string;

  const command = (database: string, ...words: string[]) => runCommand(words, { DATABASE_URL: database });
  const callAt = async (
    base: string,
    method: string,
    path: string,
    body?: string,
    more: Record<string, string> = {},
  ) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...more };
    const response = await fetch(base + path, { method, headers, ...(body && { body }) });
    return { status: response.status, text: await response.text() };
  };
  const call = (method: string, path: string, body?: string, more: Record<string, string> = {}) =>
    callAt(store.url, method, path, body, more);
  const post = (id: number) => call('POST', '/plants', `{"id":${id},"name":"Fir ${id}","tag":"Abies"}`);
  const count = async (where = 'TRUE') =>
    Number((await query(url, `SELECT count(*) FROM plants WHERE ${where}`))[0]?.count);

  beforeAll(async () => {
    folder = makeDataFolder();
    cluster = await startCitusCluster(folder);
    url = await createCitusDatabase([cluster.coordinator, ...cluster.workers], 'plants');
    expect((await command(url, 'migrate')).code).toBe(0);
    await query(url, `INSERT INTO plants SELECT i, 'Yew' || i, 'Taxus' FROM generate_series(1, ${PLANTS}) AS i`);
    token = /^plant_\S+/.exec((await command(url, 'token', 'create', '--name', 'test')).stdout)?.[0] ?? '';
  });
  afterAll(async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true });
  });

  describe('a distributed database', () => {
    beforeAll(async () => {
      expect(await distribute(url, '--set=shards=4')).toMatch(/INFO: {2}Distributed plants\.\n$/);
      store = await startStore({
        DATA_DIR: folder,
        DATABASE_URL: url,
        RATE_LIMIT: '1000000/60',
      });
    });
    afterAll(() => store.stop());

    test('an instance may use a worker, and is ready there', async () => {
      const ownFolder = makeDataFolder();
      const settings = { DATA_DIR: ownFolder, DATABASE_URL: databaseOn(cluster.workers[0], 'plants') };
      const atWorker = await startStore(settings);
      try {
        expect(await callAt(atWorker.url, 'GET', '/readyz')).toEqual({ status: 200, text: '{"status":"ready"}' });
        expect((await callAt(atWorker.url, 'GET', '/plants/1')).status).toBe(200);
      } finally {
        await atWorker.stop();
        rmSync(ownFolder, { recursive: true });
      }
    });

    test('has the rows from before on the workers only, and is not distributed again', async () => {
      expect(await count(`id <= ${PLANTS}`)).toBe(PLANTS);
      expect(await query(url, "SELECT pg_relation_size('plants') AS bytes")).toEqual([{ bytes: '0' }]);
      const tables =
        'SELECT table_name::text AS name, citus_table_type AS type, shard_count AS shards FROM citus_tables ORDER BY 1';
      expect(await query(url, tables)).toEqual([
        { name: '_prisma_migrations', type: 'reference', shards: '1' },
        { name: 'plants', type: 'distributed', shards: '4' },
        { name: 'rate_limits', type: 'distributed', shards: '1' },
        { name: 'tokens', type: 'reference', shards: '1' },
      ]);
      expect(await distribute(url, '--set=shards=16')).toMatch(/INFO: {2}All tables are distributed already\.\n$/);
    });

    test('every operation works', async () => {
      expect(await post(20_001)).toEqual({ status: 200, text: '{"name":"Fir 20001","tag":"Abies"}' });
      expect(await post(20_001)).toEqual({ status: 400, text: '{"error":1004,"message":"The id 20001 is taken."}' });
      expect(await call('GET', '/plants/20001')).toMatchObject({
        status: 200,
        text: expect.stringContaining('Fir 20001'),
      });
      expect(await call('PUT', '/plants/20001', '{"name":"Elm"}')).toEqual({ status: 200, text: '{"name":"Elm"}' });
      expect((await call('PATCH', '/plants/20001', '{"tag":"x"}')).text).toBe('{"name":"Elm","tag":"x"}');
      expect((await call('GET', '/plants?tag=x')).text).toBe('[{"id":20001,"name":"Elm","tag":"x"}]');
      expect((await call('GET', '/plants?q=elm')).text).toBe('[{"id":20001,"name":"Elm","tag":"x"}]');
      expect((await call('GET', '/plants?id=20001&id=7')).text).toMatch(/^\[\{"id":7,.*\{"id":20001,.*\}\]$/);
      expect((await call('DELETE', '/plants/20001')).status).toBe(204);
      expect((await call('GET', '/plants/20001')).status).toBe(404);
    });

    test('changes of many plants change those that match, the first in the order of ids with a limit', async () => {
      await query(url, 'DELETE FROM plants WHERE id BETWEEN 50001 AND 50100');
      await query(url, "INSERT INTO plants SELECT id, 'Oak', 'many' FROM generate_series(50001, 50100) AS id");
      const change = async (method: string, parameters: string, patch?: string) =>
        JSON.parse((await call(method, `/plants?${parameters}`, patch)).text);
      expect(await change('PATCH', 'tag=many&dryRun=true', '{"name":"Elm"}')).toEqual({ updated: 100 });
      expect(await change('PATCH', 'tag=many&limit=30', '{"name":"Elm"}')).toEqual({ updated: 30 });
      expect(await count("name = 'Elm' AND tag = 'many' AND id <= 50030")).toBe(30);
      expect(await change('PATCH', 'tag=many', '{"name":"Elm"}')).toEqual({ updated: 70 });
      expect(await change('PATCH', 'id=50001&id=50002&id=50101', '{"tag":null}')).toEqual({ updated: 2 });
      expect(await change('DELETE', 'tag=many&q=ELM&limit=8')).toEqual({ deleted: 8 });
      expect(await count("tag = 'many' AND id <= 50010")).toBe(0);
      const both = await Promise.all([change('DELETE', 'tag=many'), change('DELETE', 'q=elm')]);
      expect(both[0].deleted + both[1].deleted).toBe(92);
      expect(JSON.parse((await call('GET', '/plants/count?tag=many')).text)).toEqual({ count: 0 });
    });

    test('an Idempotency-Key is refused', async () => {
      const { status, text } = await call('POST', '/plants', '{"id":20002,"name":"Fir"}', { 'Idempotency-Key': '"a"' });
      expect([status, JSON.parse(text)]).toMatchObject([400, { error: 1303 }]);
      expect((await call('GET', '/plants/20002')).status).toBe(404);
    });

    test('of plants that are posted together, each gets its own outcome', async () => {
      const ids = Array.from({ length: 200 }, (_, index) => 30_000 + Math.floor(index / 2));
      const statuses = (await Promise.all(ids.map(post))).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(100);
      expect(statuses.filter((status) => status === 400)).toHaveLength(100);
      expect(await count('id BETWEEN 30000 AND 30099')).toBe(100);
    });

    test('pages that are read together are in order and complete', async () => {
      const read = async (after: number) =>
        JSON.parse((await call('GET', `/plants?limit=50&cursor=${cursorAfter(String(after))}`)).text) as {
          id: number;
        }[];
      const afters = Array.from({ length: 40 }, (_, index) => 50 * index);
      const pages = await Promise.all(afters.map(read));
      expect(pages.flat().map(({ id }) => id)).toEqual(Array.from({ length: 2000 }, (_, index) => index + 1));
    });

    test.each([
      ['', { created: 2, replaced: 0, skipped: 0, failed: 2 }],
      ['?onConflict=skip', { created: 2, replaced: 0, skipped: 2, failed: 0 }],
      ['?onConflict=replace', { created: 2, replaced: 1, skipped: 0, failed: 1 }],
      ['?dryRun=true', { created: 2, replaced: 0, skipped: 0, failed: 2 }],
      ['?dryRun=true&onConflict=replace', { created: 2, replaced: 1, skipped: 0, failed: 1 }],
      ['?atomic=true&onConflict=skip', { created: 2, replaced: 0, skipped: 2, failed: 0 }],
    ])('imports with %j', async (parameters, outcome) => {
      await query(url, 'DELETE FROM plants WHERE id IN (40001, 40002)');
      const rows = [1, 40_001, 40_002, 40_001].map((id, index) => `{"id":${id},"name":"Ash ${index}"}`).join('\n');
      const { text } = await call('POST', `/plants/import${parameters}`, rows, NDJSON);
      expect(JSON.parse(text)).toMatchObject(outcome);
    });

    test('of many rows, one that a worker rejects fails alone', async () => {
      await query(url, "ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'Weed')");
      const ids = Array.from({ length: 6000 }, (_, index) => 60_001 + index);
      const rows = ids.map((id) => `{"id":${id},"name":"${id === 63_000 ? 'Weed' : 'Ash'}"}`).join('\n');
      const { text } = await call('POST', '/plants/import', rows, NDJSON);
      expect(JSON.parse(text)).toMatchObject({ created: 5999, failed: 1, errors: [{ line: 3000, error: 1003 }] });
      await query(url, 'ALTER TABLE plants DROP CONSTRAINT no_weeds; DELETE FROM plants WHERE id > 60000');
    });

    test('an export has every plant once, in the order of ids', async () => {
      const { text } = await call('GET', '/plants/export');
      const ids = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id as number);
      expect(ids).toHaveLength(await count());
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    });

    test('the search index is created and dropped on all shards', async () => {
      expect((await command(url, 'search-index', 'create')).stdout).toBe('Created the search index.\n');
      expect(JSON.parse((await call('GET', '/plants?q=yew123&limit=2')).text)).toHaveLength(2);
      expect((await command(url, 'search-index', 'drop')).stdout).toBe('Dropped the search index.\n');
    });

    test('a write that is canceled after a worker may have committed it has an unknown outcome', async () => {
      // Counting requests would wait for the workers, too.
      const unlimited = await startStore({ DATA_DIR: folder, DATABASE_URL: url });
      await using stack = new AsyncDisposableStack();
      stack.defer(async () => void (await unlimited.stop()));
      const change = (method: string, path: string, body?: string) => callAt(unlimited.url, method, path, body);
      expect([(await post(50_001)).status, (await post(50_002)).status]).toEqual([200, 200]);
      expect((await change('GET', '/plants/50001')).status).toBe(200);
      const onWorkers = (sql: string) => Promise.all(cluster.workers.map((worker) => query(worker.url, sql)));
      // Commits wait for a standby, which does not exist, until the coordinator cancels the statement.
      await onWorkers("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
      await onWorkers('SELECT pg_reload_conf()');
      await waitUntil('the setting', async () => {
        const settings = await onWorkers('SHOW synchronous_standby_names');
        return settings.every(([row]) => row?.synchronous_standby_names === 'nobody');
      });
      const answers = await Promise.all([
        change('POST', '/plants', '{"id":50000,"name":"Fir"}'),
        change('PUT', '/plants/50001', '{"name":"Larch"}'),
        change('DELETE', '/plants/50002'),
      ]);
      await onWorkers('ALTER SYSTEM RESET synchronous_standby_names');
      await onWorkers('SELECT pg_reload_conf()');
      for (const { status, text } of answers)
        expect([status, text]).toEqual([503, expect.stringContaining('The outcome is unknown.')]);
      await waitUntil('the changes', async () => {
        const rows = await query(url, 'SELECT name FROM plants WHERE id BETWEEN 50000 AND 50002 ORDER BY id');
        return rows.map(({ name }) => name).join() === 'Fir,Larch';
      });
    });

    test('after a worker is killed under load, every plant that was confirmed is stored', async () => {
      const [worker] = cluster.workers;
      const confirmed: number[] = [];
      let nextId = 1_000_000;
      let isOver = false;
      const failures = new Set<number>();
      const load = Array.from({ length: 32 }, async () => {
        while (!isOver) {
          const id = nextId++;
          const { status } = await post(id);
          if (status === 200) confirmed.push(id);
          else failures.add(status);
        }
      });
      await waitUntil('load', () => confirmed.length > 2000);
      await worker.kill();
      await waitUntil('failures', () => failures.size > 0);
      await worker.start();
      const before = confirmed.length;
      await waitUntil('the recovery', () => confirmed.length > before + 1000);
      isOver = true;
      await Promise.all(load);
      expect(failures).toEqual(new Set([503]));
      // Prepared transactions of the killed worker are committed within `citus.recover_2pc_interval`.
      await waitUntil('all confirmed plants', async () => {
        const [row] = await query(url, 'SELECT count(*) FROM plants WHERE id = ANY($1::bigint[])', [confirmed]);
        return Number(row?.count) === confirmed.length;
      });
      // The sessions of imports have connections to the killed worker, of which each fails once.
      const importRow = (parameters: string) =>
        call('POST', `/plants/import${parameters}`, '{"id":1,"name":"Yew"}', NDJSON);
      for (const parameters of ['', '?onConflict=replace', '?atomic=true&onConflict=skip'])
        await waitUntil(`import ${parameters}`, async () => (await importRow(parameters)).status === 200);
    });
  });
});
