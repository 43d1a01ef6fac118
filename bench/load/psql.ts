/** PostgreSQL's own way to load and unload a table: `\copy` of psql. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { connectionVariables } from '../database/connection-variables.ts';
import { BenchError } from '../processes/bench-error.ts';
import { runCommand, versionOf } from '../processes/command.ts';
import { type Counted, countLines } from './count-lines.ts';

/** Debian's packages put only a wrapper on the PATH, and not in every image. */
const DEBIAN_VERSIONS = '/usr/lib/postgresql';

type OpenPsql = { databaseUrl: string; signal: AbortSignal };

/** @throws {BenchError} if psql is not installed */
export const openPsql = async ({ databaseUrl, signal }: OpenPsql) => {
  const file = await findPsql();
  const env = { ...process.env, ...connectionVariables(databaseUrl) };
  const argumentsOf = (command: string) => ['--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '-c', command];
  return {
    /** Loads a CSV file into the table. */
    load: (csv: string) =>
      runCommand({ file, args: argumentsOf(`\\copy plants FROM '${csv}' WITH (FORMAT csv)`), env, signal }),
    /** Reads all plants in the order of an export. */
    unload: async (): Promise<Counted> => {
      const args = argumentsOf('\\copy (SELECT id, name, tag FROM plants ORDER BY id) TO STDOUT');
      const child = spawn(file, args, { env, signal, stdio: ['ignore', 'pipe', 'inherit'] });
      const exited = once(child, 'close');
      const counted = await countLines(child.stdout);
      const [code] = await exited;
      if (code !== 0) throw new BenchError(`psql exited (${code})`);
      return counted;
    },
  };
};

const findPsql = async (): Promise<string> => {
  const versions = await readdir(DEBIAN_VERSIONS).catch(() => []);
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a));
  const candidates = ['psql', ...newestFirst.map((version) => join(DEBIAN_VERSIONS, version, 'bin', 'psql'))];
  for (const candidate of candidates) if (await versionOf(candidate)) return candidate;
  throw new BenchError('psql is not installed');
};
