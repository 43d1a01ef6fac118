import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import { findReason, runCommand } from './command.ts';
import type { LoadGenerator, LoadResult } from './load.ts';

const script = join(import.meta.dirname, 'wrk.lua');
/** Two threads send more than any server on as few cores answers; one connection needs one thread. */
const MAX_THREADS = 2;
/** wrk leaves slower answers out of its percentiles, and by default that is 2 s. */
const SLOWEST_ANSWER = '10s';

type Printed = Omit<LoadResult, 'ok' | 'notOk'> & { statuses: Record<string, number> };

export const runWrk = async (load: Parameters<LoadGenerator['run']>[0], folder: string): Promise<LoadResult> => {
  const { url, connections, seconds, run, token, signal } = load;
  const threads = Math.min(MAX_THREADS, connections);
  const { stdout } = await runCommand({
    file: 'wrk',
    args: [
      '--threads',
      `${threads}`,
      '--connections',
      `${connections}`,
      '--duration',
      `${seconds}s`,
      '--timeout',
      SLOWEST_ANSWER,
      '--script',
      script,
      url,
    ],
    cwd: folder,
    // Not as arguments, which every account of the machine can read.
    env: { ...process.env, BENCH_TOKEN: token, BENCH_RUN: String(run) },
    signal,
  });
  const line = /^RESULT (.*)$/m.exec(stdout)?.[1];
  if (!line) throw new BenchError(`wrk printed no result: ${findReason(stdout)}`);
  const { statuses, ...rest } = JSON.parse(line) as Printed;
  const { 200: ok = 0, ...notOk } = statuses;
  return { ...rest, ok, notOk };
};
