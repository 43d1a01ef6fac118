/** CPU time and memory of a process and its descendants, from /proc: unknown (NaN) without a process, and outside Linux. */
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, 100 on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;
const KIBIBYTES_PER_MEBIBYTE = 1024;

type Process = { pid: number; parent: number; cpuTicks: number };

/** CPU time used so far, user and system, in seconds. Includes children that have exited. */
export const cpuSeconds = (root?: number): number => sumOver(root, ({ cpuTicks }) => cpuTicks) / TICKS_PER_SECOND;

/** `VmRSS` is the memory in use now, `VmHWM` the sum of each process's peak. */
export const mebibytes = (field: 'VmRSS' | 'VmHWM', root?: number): number =>
  sumOver(root, ({ pid }) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]);
  }) / KIBIBYTES_PER_MEBIBYTE;

/** Undefined outside Linux. */
export const parentOf = (pid: number): number | undefined =>
  process.platform === 'linux' ? readProcess(pid)[0]?.parent : undefined;

const sumOver = (root: number | undefined, read: (process: Process) => number): number => {
  if (root === undefined || process.platform !== 'linux') return Number.NaN;
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? readProcess(Number(name)) : []));
  const tree = all.filter(({ pid }) => pid === root);
  // The array grows while it is iterated, so children of children are found too.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree.reduce((sum, process) => sum + read(process), 0);
};

/** proc(5): after the command in parentheses, ppid is field 1, and utime, stime, cutime and cstime are 11 to 14. */
const readProcess = (pid: number): Process[] => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return [{ pid, parent: fields[1] ?? 0, cpuTicks: fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) }];
  } catch {
    return []; // It exited meanwhile.
  }
};
