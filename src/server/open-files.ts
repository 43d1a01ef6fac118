import { existsSync, readFileSync } from 'node:fs';

/** What has files open besides the connections of clients: those to the database, the log, modules and the metrics. */
const OTHER_FILES = 200;

/** Of this process, on Linux (proc(5)). */
const LIMITS = '/proc/self/limits';

/**
 * @returns how many connections of clients this process can have open: without files left, it could not even tell a probe. Infinite
 *   on systems that do not say how many files it may open
 */
export const maxClientConnections = (): number => {
  const limits = existsSync(LIMITS) ? readFileSync(LIMITS, 'utf8') : '';
  const [, files = Number.POSITIVE_INFINITY] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return Math.max(Number(files) - OTHER_FILES, Math.floor(Number(files) / 2));
};
