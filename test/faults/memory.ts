import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Whether the system tells what a process holds (Linux). */
export const canLookInside = existsSync('/proc/self/status');

/** The memory that a process holds now, in MiB. */
export const memoryOf = (pid: number): number => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
};

/** How many files, sockets and pipes a process has open. */
export const handlesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
