import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BenchError, findReason, runCommand } from '../command.ts';
import type { Load, LoadResult } from './load.ts';

/** Two threads send more than any server on two cores answers; one connection needs one thread. */
const MAX_THREADS = 2;
/** wrk excludes slower answers from its percentiles. Its default is 2 s. */
const TIMEOUT = '10s';
const script = join(import.meta.dirname, 'wrk.lua');

/** Numbers the loads of the whole benchmark, so that no id derived from the number repeats. */
let runs = 0;

type Wrk = { folder: string; signal: AbortSignal };
type Server = { url: string; token: string };

/** The folder has `members.txt`, with what follows the id in the body of a new plant, one on each line. */
export const runWrk = async (load: Load, { url, token }: Server, { folder, signal }: Wrk): Promise<LoadResult> => {
  const { connections, seconds, paths, withKeys, until } = load;
  if (paths) await writeFile(join(folder, 'paths.txt'), `${paths.join('\n')}\n`);
  runs += 1;
  const threads = Math.min(MAX_THREADS, connections);
  const size = ['--threads', `${threads}`, '--connections', `${connections}`, '--duration', `${seconds}s`];
  const stdout = await runCommand({
    file: 'wrk',
    args: [...size, '--timeout', TIMEOUT, '--script', script, url],
    // Not as arguments, which every account on the machine can read.
    env: {
      BENCH_TOKEN: token,
      BENCH_RUN: String(runs),
      BENCH_METHOD: paths ? 'GET' : 'POST',
      BENCH_KEYS: withKeys ? 'yes' : '',
      BENCH_LINES: join(folder, paths ? 'paths.txt' : 'members.txt'),
    },
    signal,
    until,
  });
  const line = /^RESULT (.*)$/m.exec(stdout)?.[1];
  if (!line) throw new BenchError(`wrk printed no result: ${findReason(stdout)}`);
  return JSON.parse(line);
};
