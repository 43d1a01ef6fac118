import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The psql of CITUS_BIN, or else of this machine. */
const PSQL = process.env.CITUS_BIN ? join(process.env.CITUS_BIN, 'psql') : 'psql';

/** Why files of `deploy/` cannot run here as the documentation says; undefined if they can. */
export const psqlObstacle = (): string | undefined => spawnSync(PSQL, ['--version']).error && 'psql is not installed';

/** A file of `deploy/` without the commands of psql, for a driver. */
export const readSql = (file: string): string => readFileSync(file, 'utf8').replace(/^\\.*$/gm, '');

/** Runs deploy/citus/distribute.sql on a database. @returns what it reports. @throws psql's exit `code` and `stderr` */
export const distribute = async (url: string, ...options: string[]): Promise<string> => {
  const words = ['--no-psqlrc', ...options, '--file', 'deploy/citus/distribute.sql', url];
  return (await promisify(execFile)(PSQL, words)).stderr;
};
