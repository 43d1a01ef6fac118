/** CPU time and memory of a process and its descendants, from /proc: undefined without a process, and outside Linux. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** USER_HZ, 100 on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;
const KIBIBYTE = 1024;

type Process = { pid: number; parent: number; cpuTicks: number };

/** CPU time used so far, user and system, in seconds. Includes children that have exited. */
export const cpuSeconds = (root?: number): number | undefined => {
  const processes = processTree(root);
  return processes && processes.reduce((sum, { cpuTicks }) => sum + cpuTicks, 0) / TICKS_PER_SECOND;
};

/** CPU time used by all children of this process that have exited, in seconds. */
export const exitedChildrenCpuSeconds = (): number | undefined => {
  const fields = readFields(process.pid);
  return fields && ticksOf(fields.slice(13, 15)) / TICKS_PER_SECOND;
};

/** Lets `VmHWM` start again from the memory in use now (proc(5), clear_refs). */
export const resetPeakMemory = (root?: number): void => {
  for (const { pid } of processTree(root) ?? []) writeFileSync(`/proc/${pid}/clear_refs`, '5');
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

const readProcess = (pid: number): Process | undefined => {
  const fields = readFields(pid);
  return fields && { pid, parent: fields[1] ?? 0, cpuTicks: ticksOf(fields.slice(11, 15)) };
};

const ticksOf = (fields: number[]): number => fields.reduce((sum, ticks) => sum + ticks, 0);

/** proc(5): after the command in parentheses, ppid is field 2, and utime, stime, cutime and cstime are 12 to 15. */
const readFields = (pid: number): number[] | undefined => {
  const stat = tryRead(`/proc/${pid}/stat`);
  return stat
    ?.slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
};

/** A process may exit while it is read. */
const tryRead = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};
