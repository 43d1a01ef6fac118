import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SCOPES } from '../../src/tokens/token.ts';
import { takeBaseBackup } from '../support/base-backup.ts';
import { docker } from '../support/docker.ts';
import { createPostgresServer, makeFolder, type PostgresServer } from '../support/postgres-server.ts';
import { describeUnless } from '../support/skip.ts';
import { runCommand } from '../support/store-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import type { TestService } from '../support/test-service.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Posts to a service whose database is a copy, with the token of the original. @returns the status */
const post = async (service: TestService, token: string, id: number) => {
  const headers = { Authorization: `Bearer ${token}` };
  return (await service.post({ id, name: 'Fir' }, headers)).status;
};

const ids = (rows: Record<string, unknown>[]) => rows.map(({ id }) => Number(id));

/** The container in which the tests' PostgreSQL runs; '' for the embedded PostgreSQL, which has no pg_dump. */
const findContainer = async (): Promise<string> => {
  const { port } = new URL(process.env.TEST_POSTGRES_URL ?? '');
  return docker('ps', '--quiet', '--filter', `publish=${port}`).catch(() => '');
};

const container = await findContainer();
const run = (line: string) => docker('exec', container, 'sh', '-c', line);

/** Why pg_dump cannot run; undefined if it can. It refuses a server that is newer than itself. */
const findObstacle = async (): Promise<string | undefined> => {
  if (container === '') return 'PostgreSQL does not run in Docker';
  const [dump, server] = await Promise.all([run('pg_dump --version'), run('postgres --version')]);
  const major = (version: string) => Number(/ (\d+)/.exec(version)?.[1]);
  return major(dump) < major(server) ? `the image has ${dump} beside ${server}` : undefined;
};

describeUnless(await findObstacle(), 'a backup with pg_dump and pg_restore', () => {
  let service: TestService;
  let copy: TestDatabase;
  const startService = useTestServices();
  beforeEach(async () => {
    service = await startService();
    copy = await createTestDatabase({ migrated: false });
  });
  afterEach(() => copy.drop());

  test('taken under load contains the tokens and every plant that was stored before it began', async () => {
    let nextId = 1;
    let storing = true;
    const client = async () => {
      while (storing) expect((await service.post({ id: nextId++, name: 'Fir' })).status).toBe(200);
    };
    const clients = Promise.all([client(), client(), client(), client()]);
    await waitUntil('50 plants', () => nextId >= 50);
    const before = ids(await service.database.query('SELECT id FROM plants'));
    const dump = run(`pg_dump --username postgres --format custom --file /tmp/${copy.name} ${service.database.name}`);
    await dump.finally(() => {
      storing = false;
      return clients;
    });
    await run(`pg_restore --username postgres --exit-on-error --dbname ${copy.name} /tmp/${copy.name}`);
    const after = new Set(ids(await copy.query('SELECT id FROM plants')));
    expect(before.filter((id) => !after.has(id))).toEqual([]);
    const restored = await startService({}, { databaseUrl: copy.url });
    expect((await restored.agent.get('/readyz')).status).toBe(200);
    expect(await post(restored, service.token, 1)).toBe(400);
    expect(await post(restored, service.token, nextId)).toBe(200);
  });
});

describe('point-in-time recovery', () => {
  const startService = useTestServices();
  const servers: PostgresServer[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.kill();
  });
  const dataFolder = useDataFolder();

  const startServer = async (...options: Parameters<typeof createPostgresServer>) => {
    const server = await createPostgresServer(...options);
    servers.push(server);
    await server.start();
    return server;
  };

  test('restores the state before a mistake after the disk was lost', async () => {
    const folder = dataFolder.path;
    const archive = join(folder, 'archive');
    const settings = `archive_mode = on\narchive_command = 'cp %p ${archive}/%f'\n`;
    const server = await startServer({ folder, name: 'postgres', settings });
    makeFolder(archive, server.account);
    await runCommand(['migrate'], { DATABASE_URL: server.url });
    const service = await startService({}, { databaseUrl: server.url });
    const token = await service.tokens.create({ name: 'backup', scopes: SCOPES, expiresAt: null });

    expect(await post(service, token, 1)).toBe(200);
    const backup = makeFolder(join(folder, 'backup'), server.account);
    await takeBaseBackup(server, backup);
    expect(await post(service, token, 2)).toBe(200);
    const [before] = await server.query('SELECT clock_timestamp()::text AS time');
    await server.query('DELETE FROM plants');
    expect(await post(service, token, 3)).toBe(200);
    const [last] = await server.query('SELECT pg_walfile_name(pg_switch_wal()) AS file');
    const isArchived = 'SELECT last_archived_wal >= $1 AS archived FROM pg_stat_archiver';
    await waitUntil(
      'the archived file',
      async () => (await server.query(isArchived, [last?.file]))[0]?.archived === true,
    );
    await service.stopServer();
    await server.kill();
    rmSync(server.directory, { recursive: true });

    const restored = await startServer({
      folder,
      name: 'restored',
      settings: `restore_command = 'cp ${archive}/%f %p'\nrecovery_target_time = '${before?.time}'\nrecovery_target_action = promote\n`,
      fill: async (directory) => {
        await promisify(execFile)('cp', ['-a', `${backup}/.`, directory]);
        writeFileSync(join(directory, 'recovery.signal'), '');
      },
    });
    await waitUntil(
      'the end of the recovery',
      async () => (await restored.query('SELECT pg_is_in_recovery() AS is'))[0]?.is === false,
    );
    expect(ids(await restored.query('SELECT id FROM plants ORDER BY id'))).toEqual([1, 2]);
    const again = await startService({}, { databaseUrl: restored.url });
    expect(await post(again, token, 2)).toBe(400);
    expect(await post(again, token, 3)).toBe(200);
  });
});
