/** CPU time and memory of a process and its descendants, from /proc: Linux only, undefined elsewhere. */
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, which is 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;
const KIBIBYTE = 1024;

type Process = { pid: number; parent: number; cpuTicks: number };

/** A process may end while it is read. */
const tryRead = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

/** proc(5): after the command in parentheses, ppid is field 2, utime, stime, cutime and cstime are 12 to 15. */
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

const processTree = (root: number): Process[] => {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));
  const tree = all.filter(({ pid }) => pid === root);
  // The array grows while it is walked: children of children follow.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
};

const isLinux = process.platform === 'linux';

/** CPU time used so far, user and system, with that of children that have ended, in seconds. */
export const cpuSeconds = (root: number): number | undefined =>
  isLinux ? processTree(root).reduce((sum, { cpuTicks }) => sum + cpuTicks, 0) / TICKS_PER_SECOND : undefined;

const memory = (root: number, field: 'VmHWM' | 'VmRSS'): number | undefined => {
  if (!isLinux) return undefined;
  const kibibytes = processTree(root).map(({ pid }) => {
    const status = tryRead(`/proc/${pid}/status`) ?? '';
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
  });
  return kibibytes.reduce((sum, size) => sum + size, 0) * KIBIBYTE;
};

/** The most memory that each process held at any time, added up, in bytes. */
export const peakMemory = (root: number): number | undefined => memory(root, 'VmHWM');

/** The memory held now, in bytes. */
export const currentMemory = (root: number): number | undefined => memory(root, 'VmRSS');
