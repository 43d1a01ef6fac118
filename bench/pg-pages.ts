import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import type { LoadResult } from './load.ts';
import { cpuSeconds, peakMemory } from './process-tree.ts';
import type { Page } from './read.ts';
import type { OpenTarget } from './targets.ts';

/** As many queries at once as there would be connections. */
export type PgLoad = { connections: number; seconds: number };

/** A plain SELECT, or the store's own statement for a page. */
export type PgStatement = 'plain' | 'store';

/** The pages that are read, and how. */
export type PagesMessage = { pages: Page[]; statement: PgStatement };

type OpenPgPages = PagesMessage & { databaseUrl: string; signal: AbortSignal };

/** Pages from `pg` alone, in a process of its own: `peers/pg-pages.ts`. */
export const openPgPages = async ({ databaseUrl, pages, statement, signal }: OpenPgPages): Promise<OpenTarget> => {
  const child = fork(join(import.meta.dirname, 'peers', 'pg-pages.ts'), {
    // As the store does for itself (record 0023): by chance V8 makes a process a third slower, and this one is the measure.
    execArgv: ['--no-allocation-site-pretenuring'],
    env: { ...process.env, NODE_ENV: 'production', DATABASE_URL: databaseUrl },
    // A process group of its own, as the servers have: Ctrl-C reaches the benchmark alone.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const pid = child.pid as number;
  const ask = (message: object) => askChild({ child, message, signal });
  await ask({ pages, statement } satisfies PagesMessage);
  return {
    load: async ({ connections, seconds }) => (await ask({ load: { connections, seconds } })) as LoadResult,
    cpuSeconds: () => cpuSeconds(pid),
    peakMemory: () => peakMemory(pid),
    pid,
    stop: () => stop(child),
  };
};

type Ask = { child: ChildProcess; message: object; signal: AbortSignal };

const askChild = async ({ child, message, signal }: Ask): Promise<unknown> => {
  const settled = new AbortController();
  const either = { signal: AbortSignal.any([signal, settled.signal]) };
  try {
    // Where it cannot be sent, the process has ended or is about to, and that is said.
    child.send(message, () => {});
    const ended = once(child, 'exit', either).then(() => {
      throw new BenchError(`ended (exit ${child.exitCode ?? child.signalCode})`);
    });
    const [answer] = await Promise.race([once(child, 'message', either), ended]);
    return answer;
  } finally {
    settled.abort();
  }
};

const stop = async (child: ChildProcess) => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill();
  await ended;
};
