import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { isServerOf, readPidFile, removeStalePidFile } from './postmaster-pid.ts';
import type { ServerAccount } from './server-account.ts';

const USER = 'plant_store';

const initdbOptions = [
  `--username=${USER}`,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
];

/** How long PostgreSQL may take to start, in ms: it may have much to recover after a crash. */
const START_TIMEOUT = 60_000;
const POLL_INTERVAL = 50;

const MIB = 1_048_576;
/** PostgreSQL's own cache where nothing is set, in MiB. */
const DEFAULT_SHARED_BUFFERS = 128;
/** It holds the indexes by id and by tag of some millions of plants, which change at random places where ids are random; in MiB. */
const SHARED_BUFFERS = 512;

const settings = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 300
logging_collector = on
log_directory = 'log'
log_filename = 'postgresql-%a.log'
log_truncate_on_rotation = on
log_checkpoints = off
`;

type ClusterOptions = { dataDir: string; binaries: Binaries; account: ServerAccount };

/** One PostgreSQL data directory, and its server as pg_ctl runs it: a daemon that outlives whoever started it. */
export const createCluster = ({ dataDir, binaries, account }: ClusterOptions) => {
  const directory = join(dataDir, 'postgres');
  const passwordFile = join(dataDir, 'postgres-password');
  const startLog = join(directory, 'start.log');

  /** Paths are given relative to the data folder, as pg_ctl puts them into a shell command and escapes nothing. */
  const run = async (program: keyof Binaries, ...options: string[]) => {
    try {
      await promisify(execFile)(binaries[program], options, {
        ...account,
        cwd: dataDir,
        env: { ...process.env, LC_ALL: 'C' },
      });
    } catch (error) {
      const { stderr, message } = error as { stderr?: string; message: string };
      const log = existsSync(startLog) ? readFileSync(startLog, 'utf8') : '';
      throw new EmbeddedPostgresError(`PostgreSQL's ${program} failed: ${stderr?.trim() || message}\n${log}`.trim());
    }
  };

  /** Makes the data directory under another name first, so that one that is there is whole. */
  const initialise = async () => {
    if (existsSync(directory)) return;
    const unfinished = `${directory}.new`;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { mode: 0o700 });
    writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 });
    if (account) for (const path of [unfinished, passwordFile]) chownSync(path, account.uid, account.gid);
    await run('initdb', '--pgdata=postgres.new', '--pwfile=postgres-password', ...initdbOptions);
    appendFileSync(join(unfinished, 'postgresql.conf'), settings);
    renameSync(unfinished, directory);
  };

  return {
    /** Starts the server, on a new data directory the first time; resolves when it takes connections. */
    start: async () => {
      await initialise();
      removeStalePidFile(directory, account);
      rmSync(startLog, { force: true });
      const port = await freePort();
      const options = `-p ${port}${sharedBuffersOption()}`;
      await run('pg_ctl', 'start', '--wait', '--pgdata=postgres', '--log=postgres/start.log', `--options=${options}`);
    },
    /** Stops the server, if it still runs: connections are cut, what is committed stays. */
    stop: async () => {
      const { pid } = readPidFile(directory);
      if (pid !== undefined && isServerOf(directory, pid, account))
        await run('pg_ctl', 'stop', '--wait', '--mode=fast', '--pgdata=postgres');
    },
    /** The URL of the running server, or undefined where none runs. Waits for one that is just starting. */
    runningUrl: async () => {
      for (let waited = 0; waited < START_TIMEOUT; waited += POLL_INTERVAL) {
        const { pid, port } = readPidFile(directory);
        if (pid === undefined || !isServerOf(directory, pid, account)) return undefined;
        const url = `postgresql://${USER}:${readFileSync(passwordFile, 'utf8')}@127.0.0.1:${port}/postgres`;
        if (port !== undefined && (await answers(url))) return url;
        await setTimeout(POLL_INTERVAL);
      }
      throw new EmbeddedPostgresError(
        `PostgreSQL runs on ${directory} but does not answer. Its log is in ${join(directory, 'log')}.`,
      );
    },
  };
};

const answers = async (url: string) => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 1000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
};

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

/** An eighth of the memory at most, as PostgreSQL is not its only use. */
const sharedBuffersOption = () => {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity) / MIB;
  const size = Math.min(SHARED_BUFFERS, Math.floor(memory / 8));
  return size > DEFAULT_SHARED_BUFFERS ? ` -c shared_buffers=${size}MB` : '';
};
