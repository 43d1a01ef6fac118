import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePort, loadBinaries } from '../../src/embedded-postgres/cluster.ts';
import { assertReachable, findServerAccount, type ServerAccount } from '../../src/embedded-postgres/server-account.ts';
import { spawnChild } from './children.ts';
import { succeeds } from './succeeds.ts';

export const USER = 'plant_store';
export const PASSWORD = 'plant-store';
/** How long PostgreSQL may take to start, in ms, including recovery. */
const START_TIMEOUT = 60_000;
const POLL_INTERVAL = 20;

const initdbOptions = [`--username=${USER}`, '--auth=scram-sha-256', '--encoding=UTF8', '--pgdata=.'];

const baseSettings = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
wal_level = replica
wal_keep_size = 512MB
`;

type PostgresServerOptions = {
  /** For its data directory and its log. */
  folder: string;
  name: string;
  /** Fills the empty data directory; by default, initdb does. */
  fill?: (directory: string) => Promise<void>;
  /** Lines of postgresql.conf. */
  settings?: string;
  locale?: string;
  /** Paths of the programs; by default, those of the embedded PostgreSQL. */
  binaries?: { initdb: string; postgres: string };
};

/** Creates a PostgreSQL server with default durability, which tests can stop, kill and copy. */
export const createPostgresServer = async (options: PostgresServerOptions) => {
  const { folder, name, fill, settings = '', locale = 'C', binaries = await loadBinaries() } = options;
  const account = findServerAccount(join(folder, name));
  const directory = makeFolder(join(folder, name), account);
  assertReachable(binaries.postgres, account);
  assertReachable(directory, account);
  const processOptions = { ...account, cwd: directory, env: { ...process.env, LC_ALL: 'C' } };
  if (fill) await fill(directory);
  else await initialise(binaries.initdb, locale, processOptions);
  appendFileSync(join(directory, 'postgresql.conf'), settings);
  const port = await freePort();
  const url = `postgresql://${USER}:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const log = openSync(join(folder, `${name}.log`), 'a');
  let server: ChildProcess | undefined;

  const ended = async (signal: NodeJS.Signals) => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exit = once(server, 'exit');
    server.kill(signal);
    await exit;
  };

  /** @returns true once it accepts connections, false if it has exited */
  const isUp = async (process: ChildProcess) => {
    for (let waited = 0; waited < START_TIMEOUT; waited += POLL_INTERVAL) {
      if (process.exitCode !== null) return false;
      if (await succeeds(query(url, 'SELECT'))) return true;
      await setTimeout(POLL_INTERVAL);
    }
    throw new Error(`PostgreSQL does not start; its log is ${join(folder, `${name}.log`)}`);
  };

  return {
    url,
    port,
    directory,
    account,
    /** Starts it, and waits until it accepts connections. After `kill`, that also waits for remaining processes to exit. */
    start: async () => {
      const deadline = performance.now() + START_TIMEOUT;
      do {
        if (performance.now() > deadline)
          throw new Error(`PostgreSQL exits; its log is ${join(folder, `${name}.log`)}`);
        server = spawnChild(binaries.postgres, ['-D', '.', '-p', String(port)], {
          ...processOptions,
          stdio: ['ignore', log, log],
        });
      } while (!(await isUp(server)));
    },
    /** Stops it as for maintenance (mode `fast` of pg_ctl): closes connections, writes a checkpoint. */
    stop: () => ended('SIGINT'),
    /** `kill -9` to the server and its children. */
    kill: async () => {
      const children = childrenOf(server?.pid);
      const exit = ended('SIGKILL');
      for (const pid of children) killIfThere(pid);
      await exit;
    },
    query: (sql: string, values: unknown[] = []) => query(url, sql, values),
  };
};

export type PostgresServer = Awaited<ReturnType<typeof createPostgresServer>>;

/** Makes a folder that belongs to the account, as PostgreSQL requires for data directories. */
export const makeFolder = (path: string, account: ServerAccount): string => {
  mkdirSync(path, { mode: 0o700 });
  if (account) chownSync(path, account.uid, account.gid);
  return path;
};

const initialise = async (initdb: string, locale: string, options: { cwd: string }) => {
  const passwordFile = `${options.cwd}-password`;
  writeFileSync(passwordFile, PASSWORD, { mode: 0o644 });
  await promisify(execFile)(initdb, [...initdbOptions, `--locale=${locale}`, `--pwfile=${passwordFile}`], options);
  appendFileSync(join(options.cwd, 'postgresql.conf'), baseSettings);
};

/** Runs a statement on a new connection. @returns its rows, int8 as text */
export const query = async (url: string, sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> => {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql, values)).rows;
  } finally {
    await client.end();
  }
};

/** The children of a process, on Linux. Elsewhere there are none; they exit when they notice its death. */
const childrenOf = (parent: number | undefined): number[] => {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => Number(readStat(pid)[1]) === parent).map(Number);
};

/** The fields of /proc/<pid>/stat after the command (proc(5)): state, parent, … */
const readStat = (pid: string): string[] => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return []; // It has exited.
  }
};

const killIfThere = (pid: number) => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has exited.
  }
};
