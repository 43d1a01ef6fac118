import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { SCOPES } from '../../src/tokens/token.ts';
import { createPostgresServer, type PostgresServer } from '../support/postgres-server.ts';
import { describeUnless } from '../support/skip.ts';
import { projectFolder, runCommand } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestServices } from '../support/use-test-service.ts';

/** Where Debian installs PostgreSQL: pg_dump refuses a server that is newer than itself. */
const DEBIAN = '/usr/lib/postgresql';

const findPrograms = (): string | undefined => {
  const isInstalled = (folder: string) => spawnSync(join(folder, 'initdb'), ['--version']).status === 0;
  try {
    return readdirSync(DEBIAN)
      .map((version) => join(DEBIAN, version, 'bin'))
      .findLast(isInstalled);
  } catch {
    return undefined;
  }
};

const programs = findPrograms();

/** The commands of docs/how-to/back-up-and-restore.md, from the section on pg_dump: one block to dump, one to restore. */
const readBlocks = (): string[] => {
  const [, section = ''] = readFileSync('docs/how-to/back-up-and-restore.md', 'utf8').split(/^## (?=With pg_dump$)/m);
  return [...(section.split(/^## /m)[0] ?? '').matchAll(/^```\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
};

describeUnless(
  programs ? undefined : `no PostgreSQL in ${DEBIAN}`,
  'docs/how-to/back-up-and-restore.md, with pg_dump',
  () => {
    const dataFolder = useDataFolder();
    const startService = useTestServices();
    const servers: PostgresServer[] = [];
    afterEach(async () => {
      for (const server of servers.splice(0)) await server.kill();
    });

    const startServer = async (name: string) => {
      const binaries = { initdb: `${programs}/initdb`, postgres: `${programs}/postgres` };
      const server = await createPostgresServer({ folder: dataFolder.path, name, binaries });
      servers.push(server);
      await server.start();
      return server;
    };

    /** Runs a block of commands as a person would. Without a terminal, psql reads the password from standard input. */
    const run = async (block: string, environment: Record<string, string>, input = '') => {
      const env = { ...process.env, PATH: `${programs}:${process.env.PATH}`, ...environment };
      const shell = spawn('setsid', ['bash', '-e', '-c', block], { cwd: projectFolder, env, stdio: ['pipe', 2, 2] });
      shell.stdin?.end(input);
      const [code] = await once(shell, 'exit');
      expect(code).toBe(0);
    };

    test('restores plants, tokens and privileges on a new, empty server', async () => {
      const [dump = '', restore = ''] = readBlocks();
      expect([dump, restore]).toEqual([expect.stringMatching(/^pg_dump /), expect.stringMatching(/^createdb /)]);
      const old = await startServer('old');
      await runCommand(['migrate'], { DATABASE_URL: old.url });
      await run(`psql --quiet --file deploy/postgres/store-role.sql "$OWNER"`, { OWNER: old.url });
      await old.query("ALTER ROLE plant_store_server PASSWORD 'x'");
      const asStore = (url: string, password: string) =>
        Object.assign(new URL(url), { username: 'plant_store_server', password }).href;
      const service = await startService({}, { databaseUrl: asStore(old.url, 'x') });
      const token = await service.tokens.create({ name: 'backup', scopes: SCOPES, expiresAt: null });
      const headers = { Authorization: `Bearer ${token}` };
      expect((await service.post({ id: 1, name: 'Fir', tag: 'Abies' }, headers)).status).toBe(200);

      const file = join(dataFolder.path, 'plants.dump');
      await run(dump.replace('plants.dump', file), { DATABASE_URL: old.url });
      await service.stopServer();
      await old.kill();
      const server = await startServer('new');
      const database = Object.assign(new URL(server.url), { pathname: '/plant_store_restored' }).href;
      const urls = { SERVER_URL: server.url, NEW_DATABASE_URL: database };
      await run(restore.replace('plants.dump', file), urls, 'secret\nsecret\n');

      const restored = await startService({}, { databaseUrl: asStore(database, 'secret') });
      expect((await restored.agent.get('/readyz')).status).toBe(200);
      expect((await restored.post({ id: 1, name: 'Fir' }, headers)).body.error).toBe(1004);
      expect((await restored.post({ id: 2, name: 'Fir' }, headers)).status).toBe(200);
      const read = await restored.agent.get('/plants/1').set(headers);
      expect(read.text).toBe('{"id":1,"name":"Fir","tag":"Abies"}');
      expect((await runCommand(['migrate'], { DATABASE_URL: database })).stdout).toBe('Nothing to apply.\n');
    });
  },
);
