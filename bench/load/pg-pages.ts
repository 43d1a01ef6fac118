/** Reads pages with `pg` alone, in its own process: `pg-pages-worker.ts`. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { BenchError } from '../processes/bench-error.ts';
import { stopProcess } from '../processes/server.ts';
import type { LoadResult, OpenTarget } from './load.ts';
import type { Page } from './reads.ts';

/** `connections`: queries at a time. */
export type PgLoad = { connections: number; seconds: number };

/** Which pages to read, and with which statement: a plain SELECT, or the store's statement for a page. */
export type PgPages = { pages: Page[]; statement: 'plain' | 'store' };

type OpenPgPages = PgPages & { databaseUrl: string; signal: AbortSignal };

export const openPgPages = async ({ databaseUrl, pages, statement, signal }: OpenPgPages): Promise<OpenTarget> => {
  const child = fork(join(import.meta.dirname, 'pg-pages-worker.ts'), {
    env: { ...process.env, NODE_ENV: 'production', DATABASE_URL: databaseUrl },
    // In its own process group, like the servers: Ctrl-C reaches only the benchmark.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const stop = () => stopProcess(child);
  const ask = (message: PgPages | { load: PgLoad }) => askChild({ child, message, signal });
  await ask({ pages, statement });
  return {
    load: async ({ connections, seconds }) => (await ask({ load: { connections, seconds } })) as LoadResult,
    pid: child.pid as number,
    stop,
  };
};

type Ask = { child: ChildProcess; message: object; signal: AbortSignal };

const askChild = async ({ child, message, signal }: Ask): Promise<unknown> => {
  const settled = new AbortController();
  const either = { signal: AbortSignal.any([signal, settled.signal]) };
  try {
    // If sending fails, the process is exiting, which is reported below.
    child.send(message, () => {});
    const exited = once(child, 'exit', either).then(() => {
      throw new BenchError(`exited (${child.exitCode ?? child.signalCode})`);
    });
    const [answer] = await Promise.race([once(child, 'message', either), exited]);
    return answer;
  } finally {
    settled.abort();
  }
};
