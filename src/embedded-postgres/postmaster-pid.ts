import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerAccount } from './server-account.ts';

/** Reads postmaster.pid, which exists while the server runs: the process id is in line 1, the port in line 4. */
export const readPidFile = (directory: string): { pid?: string | undefined; port?: string | undefined } => {
  const [pid, , , port] = readIfExists(join(directory, 'postmaster.pid')).split('\n');
  return { pid: pid || undefined, port: port || undefined };
};

/**
 * After a crash or a reboot, the id in postmaster.pid may belong to another process. PostgreSQL refuses to start while
 * that process runs.
 */
export const removeStalePidFile = (directory: string, account: ServerAccount) => {
  const { pid } = readPidFile(directory);
  if (pid !== undefined && !isServerOf(directory, pid, account))
    rmSync(join(directory, 'postmaster.pid'), { force: true });
};

/**
 * Whether a process is the PostgreSQL server of a data directory: it runs, is not a zombie, and has that working
 * directory. On systems other than Linux, whether the process exists.
 */
export const isServerOf = (directory: string, pid: string, account: ServerAccount): boolean => {
  if (!existsSync('/proc/self/stat')) return processExists(Number(pid));
  if (!/\(postgres\) [^ZX]/.test(readIfExists(`/proc/${pid}/stat`))) return false;
  return workingDirectory(pid, account) === identityOf(directory);
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

/** A folder's device and inode, because mounts can give one folder several paths. */
const identityOf = (folder: string): string => {
  const { dev, ino } = statSync(folder);
  return `${dev}:${ino}`;
};

/** Undefined if the process has ended, or runs under another account than the server. */
const workingDirectory = (pid: string, account: ServerAccount): string | undefined => {
  const link = `/proc/${pid}/cwd`;
  try {
    return identityOf(link);
  } catch {
    // In a container, root may not inspect processes of other accounts; the server's account may inspect its own.
    if (account === undefined) return undefined;
  }
  try {
    return execFileSync('stat', ['-L', '-c', '%d:%i', link], {
      ...account,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch (error) {
    // The answer is unknown: deleting the pid file of a running server would let a second one start.
    if ((error as { status: number | null }).status === 1) return undefined;
    throw error;
  }
};

const processExists = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
