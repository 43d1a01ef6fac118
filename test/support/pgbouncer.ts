import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { findServerAccount } from '../../src/embedded-postgres/server-account.ts';
import { spawnChild } from './children.ts';
import { query } from './postgres-server.ts';

// Debian installs it where only root's PATH leads. PGBOUNCER names another one.
const program = process.env.PGBOUNCER || 'pgbouncer';
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
const printed = spawnSync(program, ['--version'], { env, encoding: 'utf8' });

export const pgbouncerObstacle = printed.error && 'PgBouncer is not installed (Debian: pgbouncer)';
export const pgbouncerVersion = printed.stdout?.split('\n')[0];

const START_TIMEOUT = 10_000;

/**
 * Starts PgBouncer in transaction mode before the server of `databaseUrl`. It accepts no startup parameters of its own accord, and
 * has fewer connections to PostgreSQL than a store opens, so that clients share them.
 */
export const startPgbouncer = async (
  databaseUrl: string,
  folder: string,
  settings: Record<string, string | number> = {},
) => {
  const { hostname, port: serverPort, username, password } = new URL(databaseUrl);
  const port = await freePort();
  const directory = join(folder, 'pgbouncer');
  mkdirSync(directory);
  // It refuses to run as root, as PostgreSQL does.
  const account = findServerAccount(join(folder, 'no-data'));
  if (account) chownSync(directory, account.uid, account.gid);
  writeFileSync(join(directory, 'users.txt'), `"${username}" "${password}"\n`);
  const lines = Object.entries({
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'plain',
    auth_file: join(directory, 'users.txt'),
    pool_mode: 'transaction',
    default_pool_size: 5,
    admin_users: username,
    // Its default of 15 s is also how long it refuses clients after a failed attempt.
    server_login_retry: 1,
    ...settings,
  }).map(([name, value]) => `${name} = ${value}`);
  const server = `* = host=${hostname} port=${serverPort}`;
  writeFileSync(join(directory, 'pgbouncer.ini'), ['[databases]', server, '[pgbouncer]', ...lines, ''].join('\n'));
  const log = openSync(join(directory, 'log'), 'a');
  const child = spawnChild(program, [join(directory, 'pgbouncer.ini')], {
    ...account,
    env,
    stdio: ['ignore', log, log],
  });
  const pooled = Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port) });
  const console = Object.assign(new URL(pooled), { pathname: '/pgbouncer' }).href;
  const isUp = () =>
    query(console, 'SHOW VERSION').then(
      () => true,
      () => false,
    );
  for (let waited = 0; !(await isUp()); waited += 50) {
    if (child.exitCode !== null || waited > START_TIMEOUT)
      throw new Error(`PgBouncer does not start; see ${directory}/log`);
    await setTimeout(50);
  }
  pooled.searchParams.set('pgbouncer', 'true');
  return {
    /** With `pgbouncer=true`. */
    url: pooled.href,
    /** Runs a command of its console. */
    command: (sql: string) => query(console, sql),
    stop: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGINT');
      await exit;
    },
  };
};
