/** CPU time and memory of a process and its descendants, from /proc: undefined without a process, and outside Linux. */
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, 100 on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;
const KIBIBYTE = 1024;

type Process = { pid: number; parent: number; cpuTicks: number };

/** CPU time used so far, user and system, in seconds. Includes children that have exited. */
export const cpuSeconds = (root?: number): number | undefined => {
  const processes = processTree(root);
  return processes && processes.reduce((sum, { cpuTicks }) => sum + cpuTicks, 0) / TICKS_PER_SECOND;
};

/** Bytes: `VmRSS` is the memory in use now, `VmHWM` the sum of each process's peak. */
export const memoryBytes = (root: number | undefined, field: 'VmHWM' | 'VmRSS'): number | undefined => {
  const sizes = processTree(root)?.map(({ pid }) => {
    const status = tryRead(`/proc/${pid}/status`) ?? '';
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
  });
  return sizes && sizes.reduce((sum, size) => sum + size, 0) * KIBIBYTE;
};

const processTree = (root?: number): Process[] | undefined => {
  if (root === undefined || process.platform !== 'linux') return undefined;
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));
  const tree = all.filter(({ pid }) => pid === root);
  // The array grows while it is iterated, so children of children are found too.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
};

/** proc(5): after the command in parentheses, ppid is field 2, and utime, stime, cutime and cstime are 12 to 15. */
const readProcess = (pid: number): Process | undefined => {
  const stat = tryRead(`/proc/${pid}/stat`);
  if (!stat) return undefined;
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const cpuTicks = fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0);
  return { pid, parent: fields[1] ?? 0, cpuTicks };
};

/** A process may exit while it is read. */
const tryRead = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};
