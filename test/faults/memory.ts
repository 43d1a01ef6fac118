import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Whether the memory and handles of a process can be read (Linux). */
export const canLookInside = existsSync('/proc/self/status');

/** The resident memory of a process, in MiB. */
export const memoryOf = (pid: number): number => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
};

/** The number of open files, sockets and pipes of a process. */
export const handlesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
