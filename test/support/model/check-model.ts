import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { shippedLocks, startTestService } from '../test-service.ts';
import { takeProblems } from '../watch-answers.ts';
import { createClock } from './clock.ts';
import type { ModelStore } from './exchange.ts';
import { createHttpClient } from './http-client.ts';
import { runSequence } from './interpreter.ts';
import { contents, operations } from './operations.ts';

/** The clients' addresses come from a header, because wrong tokens are limited by address. No deadline is short. */
const ENVIRONMENT = { TRUST_PROXY: 'loopback', REQUEST_TIMEOUT: '60' };

/** Starts two instances of the store on one database. */
export const startModelStore = async () => {
  const requestLimits = shippedLocks;
  const first = await startTestService(ENVIRONMENT, { requestLimits });
  const second = await startTestService(ENVIRONMENT, { requestLimits, databaseUrl: first.database.url });
  const client = createHttpClient([first, second].map(({ baseUrl }) => Number(new URL(baseUrl).port)));
  const clock = createClock();
  const counts: Record<string, number> = {};
  const count = (outcome: string) => {
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  };
  const { database } = first;
  return {
    store: { database, client, clock, count, left: new Map() } satisfies ModelStore,
    /** How often each outcome occurred. */
    counts,
    /** How often the store was too busy, and a request was sent again. */
    repeated: client.repeated,
    /** The services keep their logs in memory. */
    clearLogs: () => {
      for (const { log } of [first, second]) log.splice(0);
    },
    stop: async () => {
      client.close();
      clock.restore();
      await second.stop();
      await first.stop();
    },
  };
};

/** The seed to begin with; the same seed sends the same requests. With a path, only the sequence that failed. */
export const SEED = Number(process.env.MODEL_SEED || randomInt(2 ** 31));
const PATH = process.env.MODEL_PATH;
/** How long to run, in ms, and to look for a shorter sequence. A test must wait longer, or says nothing about what it found. */
const LONGEST = 200_000;

type Options = { runs: number; length: number; seed: number };

/**
 * Compares the store with the model in random sequences.
 * @param runs how many sequences
 * @param length the maximum number of operations in one
 * @throws {Error} with the shortest sequence that was found, and how to repeat it
 */
export const checkModel = async (
  { store, clearLogs }: Awaited<ReturnType<typeof startModelStore>>,
  { runs, length, seed }: Options,
): Promise<void> => {
  const sequences = fc.array(operations, { minLength: 1, maxLength: length, size: 'max' });
  const property = fc.asyncProperty(contents, sequences, async (plants, sequence) => {
    await runSequence(store, plants, sequence).finally(clearLogs);
    const problems = takeProblems();
    if (problems.length > 0) throw new Error(`The API description lacks:\n${problems.join('\n')}`);
  });
  const path = PATH && { path: PATH };
  const details = await fc.check(property, { seed, numRuns: runs, interruptAfterTimeLimit: LONGEST, ...path });
  if (!details.failed) return;
  throw new Error(
    `Again: MODEL_SEED=${seed} MODEL_PATH=${details.counterexamplePath}\n${fc.defaultReportMessage(details)}\n` +
      `${(details.errorInstance as Error | null)?.message}`,
  );
};
