import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerAccount } from './server-account.ts';

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
 * directory. On systems other than Linux, whether the process exists.
 */
const isServerOf = (directory: string, pid: string, account: ServerAccount): boolean => {
  if (!existsSync('/proc/self/stat')) return processExists(Number(pid));
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

const processExists = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
