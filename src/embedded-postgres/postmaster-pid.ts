import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** postmaster.pid, which PostgreSQL writes while its server runs: the process id first, the port in line four. */
export const readPidFile = (directory: string): { pid?: string | undefined; port?: string | undefined } => {
  const path = join(directory, 'postmaster.pid');
  if (!existsSync(path)) return {};
  const [pid, , , port] = readFileSync(path, 'utf8').split('\n');
  return { pid: pid || undefined, port: port || undefined };
};

/**
 * After a crash the id in postmaster.pid may be another process by now, in a container nearly always, and PostgreSQL
 * would refuse to start for as long as that one lives.
 */
export const removeStalePidFile = (directory: string) => {
  const { pid } = readPidFile(directory);
  if (pid !== undefined && !isPostgres(pid)) rmSync(join(directory, 'postmaster.pid'));
};

/** Whether a process of this id lives, is no zombie, and, where the system tells (Linux), is a PostgreSQL server. */
export const isPostgres = (pid: string) => {
  if (existsSync('/proc/self/stat')) {
    const path = `/proc/${pid}/stat`;
    return existsSync(path) && /\(postgres\) [^ZX]/.test(readFileSync(path, 'utf8'));
  }
  try {
    return process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
