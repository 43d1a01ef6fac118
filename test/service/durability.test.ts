import { afterEach, expect, test } from '@jest/globals';
import { killChildren } from '../support/children.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { runCommand, startStore } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { useTestServices } from '../support/use-test-service.ts';

afterEach(killChildren);
const start = useTestServices();
const folder = useDataFolder();
const database = useTestDatabase({ each: true });

const MESSAGE = 'PostgreSQL can lose confirmed plants in a crash: ';
/** The server of the tests runs without them. */
const OFF = 'fsync = off, full_page_writes = off, synchronous_commit = off';
const cannotBeUnlogged = onCitus('tables are not UNLOGGED');

test('/readyz stays 200, and the log has one warning for each change', async () => {
  const service = await start({}, { databaseUrl: database.url });
  const warnings = () =>
    service.log.flatMap(({ level, msg }) => (level === 'warn' ? [msg.replace(MESSAGE, '').split('.')[0]] : []));
  const check = async () => {
    for (let probe = 0; probe < 3; probe++) expect((await service.agent.get('/readyz')).status).toBe(200);
  };
  await check();
  expect(warnings()).toEqual([OFF]);
  // For new sessions. The first ones are closed.
  await database.administer(`ALTER DATABASE ${database.name} SET synchronous_commit = on`);
  await database.query(
    'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  await service.agent.get('/readyz');
  await check();
  const without = warnings().filter((text) => text === 'fsync = off, full_page_writes = off');
  expect(without).toHaveLength(1);
});

testUnless(cannotBeUnlogged, '/readyz finds an UNLOGGED table, except that of rate limits', async () => {
  const service = await start({}, { databaseUrl: database.url });
  const warnings = async () => {
    service.log.length = 0;
    expect((await service.agent.get('/readyz')).status).toBe(200);
    return service.log.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
  };
  expect(String(await warnings())).not.toContain('UNLOGGED');
  for (const table of ['plants', 'tokens', 'idempotency_keys', '_prisma_migrations']) {
    await database.query(`ALTER TABLE ${table} SET UNLOGGED`);
    expect(await warnings()).toEqual([expect.stringContaining(`UNLOGGED table ${table}. `)]);
    await database.query(`ALTER TABLE ${table} SET LOGGED`);
    expect(await warnings()).toEqual([]);
  }
});

/** The warnings of a store that has started, before any check. */
const warningsOfStart = async (environment: Record<string, string>) => {
  const store = await startStore({ DATA_DIR: folder.path, ...environment });
  await store.stop();
  return store.output.text.split('\n').flatMap((line) => {
    const { level, msg } = line.startsWith('{') ? JSON.parse(line) : {};
    return level === 'warn' ? [msg.replace(MESSAGE, '').split('.')[0]] : [];
  });
};

test('serve warns when it starts, in one line', async () => {
  expect(await warningsOfStart({ DATABASE_URL: database.url })).toEqual([OFF]);
});

test('serve warns of the sessions at DIRECT_URL, too', async () => {
  const direct = new URL(database.url);
  direct.searchParams.set('options', '-c synchronous_commit=on');
  const environment = { DATABASE_URL: database.url, DIRECT_URL: direct.href };
  expect(await warningsOfStart(environment)).toEqual([OFF, 'fsync = off, full_page_writes = off']);
});

test('other commands do not warn', async () => {
  expect(await runCommand(['token', 'list'], { DATABASE_URL: database.url })).toMatchObject({ code: 0, stderr: '' });
});
