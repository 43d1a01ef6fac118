import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readConfig, variableNames } from '../../src/config/config.ts';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { query } from '../support/postgres-server.ts';
import { psqlObstacle } from '../support/psql.ts';
import { describeUnless, testUnless } from '../support/skip.ts';
import { projectFolder } from '../support/store-process.ts';
import { databaseUrl } from '../support/test-database.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

const UNIT = 'deploy/systemd/plant-store.service';
const page = readFileSync('docs/how-to/deploy-without-docker.md', 'utf8');
const folder = useDataFolder();

/** The values of a setting of the unit. */
const valuesOf = (name: string) =>
  [...readFileSync(UNIT, 'utf8').matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

const variablesOf = (text: string) =>
  Object.fromEntries([...text.matchAll(/(?:^| )([A-Z_]+)=(\S*)/gm)].map(([, name = '', value]) => [name, value]));

const environmentFile = /<<'END'\n([\s\S]*?)^END$/m.exec(page)?.[1] ?? '';

const systemdObstacle = spawnSync('systemd-analyze', ['--version']).error && 'systemd-analyze is not installed';

testUnless(systemdObstacle, 'systemd finds no mistake in the unit', async () => {
  // It looks for the program.
  const unit = readFileSync(UNIT, 'utf8').replace('/usr/bin/node', process.execPath);
  const file = join(folder.path, 'plant-store.service');
  const verify = (text: string) => {
    writeFileSync(file, text);
    return spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' }).stderr;
  };
  expect(verify(unit)).not.toContain('plant-store.service');
  expect(verify(unit.replace('Restart=always', 'Restart=often'))).toContain('plant-store.service');
});

// V8 of Node.js 20 calls pkey_alloc, for which systemd would kill it.
test('the unit allows the system calls of Node.js 20', () => {
  expect(valuesOf('SystemCallFilter')).toEqual(['@system-service @pkey']);
  expect(valuesOf('SystemCallErrorNumber')).toEqual(['EPERM']);
});

test('the service knows all variables, and has more time to stop, and more files, than it needs', () => {
  const variables = { ...variablesOf(valuesOf('Environment').join(' ')), ...variablesOf(environmentFile) };
  const unknown = Object.keys(variables).filter((name) => !variableNames.includes(name as never));
  expect(unknown).toEqual(['NODE_COMPILE_CACHE', 'PGPASSWORD']);
  const { shutdownDelay, shutdownTimeout, maxConnections } = readConfig(variables);
  expect(Number(valuesOf('TimeoutStopSec')[0]) * 1000).toBeGreaterThan(shutdownDelay + shutdownTimeout);
  expect(Number(valuesOf('LimitNOFILE')[0])).toBeGreaterThan(maxConnections);
});

describeUnless(psqlObstacle(), 'the steps of docs/how-to/deploy-without-docker.md', () => {
  const owner = `owner_${randomBytes(6).toString('hex')}`;
  const server = `${owner}_server`;
  const password = 'a-password';
  /** With names of its own, as the server has other tests. */
  const rename = (text: string) => text.replaceAll('plant_store_server', server).replaceAll(/\bplant_store\b/g, owner);
  const setPassword = (text: string) =>
    text.replaceAll(/^\\password (\w+)$/gm, `ALTER ROLE $1 PASSWORD '${password}';`);
  const toTestServer = (url: string) => {
    const { hostname, port } = new URL(databaseUrl('postgres'));
    return url.replace('127.0.0.1:5432', `${hostname}:${port}`);
  };
  const shell = (script: string, env: NodeJS.ProcessEnv) => {
    const { status, stderr } = spawnSync('sh', ['-ec', script], { env, encoding: 'utf8', cwd: projectFolder });
    expect([status, stderr]).toEqual([0, expect.any(String)]);
  };
  const { PATH } = process.env;

  beforeAll(() => {
    const [, sql = ''] = /```sql\n([\s\S]*?)```/.exec(page) ?? [];
    const script = setPassword(rename(sql));
    const { status, stderr } = spawnSync('psql', ['--set', 'ON_ERROR_STOP=1', databaseUrl('postgres')], {
      input: script,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  });
  afterAll(async () => {
    const administer = (sql: string) => query(databaseUrl('postgres'), sql);
    await administer(`DROP DATABASE IF EXISTS ${owner} WITH (FORCE)`);
    for (const role of [server, owner]) await administer(`DROP ROLE IF EXISTS ${role}`);
  });

  test('lead to a store that is ready, and that SIGTERM stops', async () => {
    const roleFile = join(folder.path, 'store-role.sql');
    writeFileSync(roleFile, rename(readFileSync('deploy/postgres/store-role.sql', 'utf8')));
    const [, migration = ''] = /```sh\n(export DATABASE_URL[\s\S]*?)```/.exec(page) ?? [];
    const steps = toTestServer(rename(migration))
      .replace('PASSWORD_OF_THE_OWNER', password)
      .replace('deploy/postgres/store-role.sql', roleFile)
      .replace(/^node/m, process.execPath)
      .replace(/'\\password (\w+)'/, `"ALTER ROLE $1 PASSWORD '${password}'"`);
    shell(steps, { PATH });

    const port = String(await freePort());
    const settings = toTestServer(rename(environmentFile)).replace('PASSWORD_OF_THE_SERVICE', password);
    const env = {
      ...{ PATH, ...variablesOf(valuesOf('Environment').join(' ')), ...variablesOf(settings) },
      ...{ PORT: port, METRICS_PORT: String(await freePort()), NODE_COMPILE_CACHE: folder.path },
    };
    const [, ...words] = (valuesOf('ExecStart')[0] ?? '').split(' ');
    const store = spawn(process.execPath, words, { cwd: projectFolder, env, stdio: 'ignore' });
    const exited = once(store, 'exit');
    try {
      await waitUntil('the store to be ready', async () =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
    } finally {
      store.kill('SIGTERM');
    }
    expect(await exited).toEqual([0, null]);
  });
});
