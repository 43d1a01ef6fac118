import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import { findReason, runCommand } from './command.ts';
import type { LoadGenerator, LoadResult } from './load.ts';
import type { Read } from './read.ts';

/** Two threads send more than any server on as few cores answers; one connection needs one thread. */
const MAX_THREADS = 2;
/** wrk leaves slower answers out of its percentiles, and by default that is 2 s. */
const SLOWEST_ANSWER = '10s';

type Printed = Omit<LoadResult, 'ok' | 'notOk'> & { outcomes: Record<string, number> };

export const runWrk = async (load: Parameters<LoadGenerator['run']>[0], folder: string): Promise<LoadResult> => {
  const { url, connections, seconds, run, reads, token, signal } = load;
  const readsFile = join(folder, 'reads.txt');
  if (reads) await writeFile(readsFile, reads.map(toLine).join(''));
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
      join(import.meta.dirname, reads ? 'wrk-read.lua' : 'wrk-create.lua'),
      url,
    ],
    cwd: folder,
    // Not as arguments, which every account of the machine can read.
    env: {
      ...process.env,
      BENCH_FOLDER: import.meta.dirname,
      BENCH_TOKEN: token,
      BENCH_RUN: String(run),
      BENCH_READS: readsFile,
    },
    signal,
  });
  const line = /^RESULT (.*)$/m.exec(stdout)?.[1];
  if (!line) throw new BenchError(`wrk printed no result: ${findReason(stdout)}`);
  const { outcomes, ...rest } = JSON.parse(line) as Printed;
  const { 200: ok = 0, ...notOk } = outcomes;
  return { ...rest, ok, notOk };
};

const toLine = ({ path, ids }: Read): string => `${path} ${ids.at(0)} ${ids.at(-1)}\n`;
