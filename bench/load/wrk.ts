import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { namesFile } from '../plants/plant-names.ts';
import { BenchError } from '../processes/bench-error.ts';
import { findReason, runCommand } from '../processes/command.ts';
import type { LoadGenerator, LoadResult } from './load.ts';

/** Two threads send more than any server on two cores answers; one connection needs one thread. */
const MAX_THREADS = 2;
/** wrk excludes slower answers from its percentiles. Its default is 2 s. */
const TIMEOUT = '10s';
const script = join(import.meta.dirname, 'wrk-script.lua');

type Printed = Omit<LoadResult, 'ok' | 'notOk'> & { outcomes: Record<string, number> };

export const runWrk = async (load: Parameters<LoadGenerator['run']>[0], folder: string): Promise<LoadResult> => {
  const { url, connections, seconds, run, reads, token, signal } = load;
  const [namesPath, readsPath] = [join(folder, 'names.txt'), join(folder, 'reads.txt')];
  await writeFile(namesPath, namesFile());
  if (reads) await writeFile(readsPath, reads.map(({ path, ids }) => `${path} ${ids.at(0)} ${ids.at(-1)}\n`).join(''));
  const threads = Math.min(MAX_THREADS, connections);
  const size = ['--threads', `${threads}`, '--connections', `${connections}`, '--duration', `${seconds}s`];
  const stdout = await runCommand({
    file: 'wrk',
    args: [...size, '--timeout', TIMEOUT, '--script', script, url],
    cwd: folder,
    // Not as arguments, which every account on the machine can read.
    env: {
      ...process.env,
      BENCH_TOKEN: token,
      BENCH_RUN: String(run),
      BENCH_NAMES: namesPath,
      BENCH_READS: reads ? readsPath : '',
    },
    signal,
  });
  const line = /^RESULT (.*)$/m.exec(stdout)?.[1];
  if (!line) throw new BenchError(`wrk printed no result: ${findReason(stdout)}`);
  const { outcomes, ...rest } = JSON.parse(line) as Printed;
  const { 200: ok = 0, ...notOk } = outcomes;
  return { ...rest, ok, notOk };
};
