import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SCOPES } from '../src/tokens/token.ts';
import { takeBaseBackup } from './support/base-backup.ts';
import { docker } from './support/containers.ts';
import { createPostgresServer, makeFolder, type PostgresServer } from './support/postgres-server.ts';
import { runCommand } from './support/store-process.ts';
import { makeTemporaryFolder } from './support/temporary-folder.ts';
import { createTestDatabase, type TestDatabase } from './support/test-database.ts';
import { startTestService, type TestService } from './support/test-service.ts';

/** Posts to a service with a token of another's, as its database is a copy. @returns the status */
const post = async (service: TestService, token: string, id: number) => {
  const headers = { Authorization: `Bearer ${token}` };
  return (await service.post({ id, name: 'Fir' }, headers)).status;
};

const ids = (rows: Record<string, unknown>[]) => rows.map(({ id }) => Number(id));

/** The container that the tests' PostgreSQL runs in; '' where that is the embedded one, which has no pg_dump. */
const findContainer = async (): Promise<string> => {
  const { port } = new URL(process.env.TEST_POSTGRES_URL ?? '');
  return docker('ps', '--quiet', '--filter', `publish=${port}`).catch(() => '');
};

const container = await findContainer();
const run = (line: string) => docker('exec', container, 'sh', '-c', line);

/** What keeps pg_dump from being tried; it takes no server that is newer than itself. */
const findObstacle = async (): Promise<string | undefined> => {
  if (container === '') return 'PostgreSQL does not run in Docker here';
  const [dump, server] = await Promise.all([run('pg_dump --version'), run('postgres --version')]);
  const major = (version: string) => Number(/ (\d+)/.exec(version)?.[1]);
  return major(dump) < major(server) ? `the image has ${dump} beside ${server}` : undefined;
};

const obstacle = await findObstacle();
if (obstacle) process.stderr.write(`\nBackup with pg_dump is not tested: ${obstacle}.\n`);

(obstacle ? describe.skip : describe)('a backup with pg_dump and pg_restore', () => {
  let service: TestService;
  let copy: TestDatabase;
  let restored: TestService | undefined;
  beforeEach(async () => {
    service = await startTestService();
    copy = await createTestDatabase({ migrated: false });
  });
  afterEach(async () => {
    await restored?.stop();
    await service.stop();
    await copy.drop();
  });

  test('taken while plants are stored, holds every plant that was answered before, and the tokens', async () => {
    let nextId = 1;
    let storing = true;
    const client = async () => {
      while (storing) expect((await service.post({ id: nextId++, name: 'Fir' })).status).toBe(200);
    };
    const clients = Promise.all([client(), client(), client(), client()]);
    while (nextId < 50) await setTimeout(10);
    const before = ids(await service.database.query('SELECT id FROM plants'));
    const dump = run(`pg_dump --username postgres --format custom --file /tmp/${copy.name} ${service.database.name}`);
    await dump.finally(() => {
      storing = false;
      return clients;
    });
    await run(`pg_restore --username postgres --exit-on-error --dbname ${copy.name} /tmp/${copy.name}`);
    const after = new Set(ids(await copy.query('SELECT id FROM plants')));
    expect(before.filter((id) => !after.has(id))).toEqual([]);
    restored = await startTestService({}, { databaseUrl: copy.url });
    expect((await restored.agent.get('/readyz')).status).toBe(200);
    expect(await post(restored, service.token, 1)).toBe(400);
    expect(await post(restored, service.token, nextId)).toBe(200);
  });
});

describe('point-in-time recovery', () => {
  let folder: string;
  const servers: PostgresServer[] = [];
  const services: TestService[] = [];
  beforeEach(() => {
    folder = makeTemporaryFolder();
  });
  afterEach(async () => {
    for (const service of services.splice(0)) await service.stop();
    for (const server of servers.splice(0)) await server.kill();
    rmSync(folder, { recursive: true });
  });

  const startServer = async (...options: Parameters<typeof createPostgresServer>) => {
    const server = await createPostgresServer(...options);
    servers.push(server);
    await server.start();
    return server;
  };
  const startService = async (databaseUrl: string) => {
    const service = await startTestService({}, { databaseUrl });
    services.push(service);
    return service;
  };

  test('brings back what there was before a mistake, though the disk is lost', async () => {
    const archive = join(folder, 'archive');
    const settings = `archive_mode = on\narchive_command = 'cp %p ${archive}/%f'\n`;
    const server = await startServer({ folder, name: 'postgres', settings });
    makeFolder(archive, server.account);
    await runCommand(['migrate'], { DATABASE_URL: server.url });
    const service = await startService(server.url);
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
    while (!(await server.query(isArchived, [last?.file]))[0]?.archived) await setTimeout(50);
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
    while ((await restored.query('SELECT pg_is_in_recovery() AS is'))[0]?.is) await setTimeout(50);
    expect(ids(await restored.query('SELECT id FROM plants ORDER BY id'))).toEqual([1, 2]);
    const again = await startService(restored.url);
    expect(await post(again, token, 2)).toBe(400);
    expect(await post(again, token, 3)).toBe(200);
  });
});
