import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerAccount } from './server-account.ts';

/** postmaster.pid, which PostgreSQL writes while its server runs: the process id first, the port in line four. */
export const readPidFile = (directory: string): { pid?: string | undefined; port?: string | undefined } => {
  const path = join(directory, 'postmaster.pid');
  if (!existsSync(path)) return {};
  const [pid, , , port] = readFileSync(path, 'utf8').split('\n');
  return { pid: pid || undefined, port: port || undefined };
};

/**
 * After a crash or a restart of the machine, the id in postmaster.pid may belong to another process, and PostgreSQL
 * refuses to start for as long as that one lives.
 */
export const removeStalePidFile = (directory: string, account: ServerAccount) => {
  const { pid } = readPidFile(directory);
  if (pid !== undefined && !isServerOf(directory, pid, account)) rmSync(join(directory, 'postmaster.pid'));
};

/**
 * Whether the process of this id is the PostgreSQL server of a data directory: there, no zombie, and working in that
 * directory. On systems other than Linux, whether there is such a process at all.
 */
export const isServerOf = (directory: string, pid: string, account: ServerAccount): boolean => {
  if (!existsSync('/proc/self/stat')) return isThere(Number(pid));
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path) || !/\(postgres\) [^ZX]/.test(readFileSync(path, 'utf8'))) return false;
  return workingDirectory(pid, account) === identityOf(directory);
};

/** A folder's device and inode: one folder may have several paths, for instance by way of mounts. */
const identityOf = (folder: string): string => {
  const { dev, ino } = statSync(folder);
  return `${dev}:${ino}`;
};

/** Undefined: the process has ended, or belongs to another account than the server's. */
const workingDirectory = (pid: string, account: ServerAccount): string | undefined => {
  const link = `/proc/${pid}/cwd`;
  try {
    return identityOf(link);
  } catch {
    // In a container root may not look into the processes of others; the account of the server may look into its own.
    if (account === undefined) return undefined;
  }
  try {
    return execFileSync('stat', ['-L', '-c', '%d:%i', link], {
      ...account,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch (error) {
    // Not where it could not be asked: to delete the pid file of a server that runs would let a second one start.
    if ((error as { status: number | null }).status === 1) return undefined;
    throw error;
  }
};

const isThere = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
