import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import { type Comparison, compare, type Unavailable } from './comparison.ts';
import { countNotOk } from './comparison-report.ts';
import { startDatabase } from './database.ts';
import { measureGrowth, measurementsOf } from './growth.ts';
import { chooseLoadGenerator } from './load.ts';
import { readMachine, readVersions } from './machine.ts';
import type { Measurement } from './measure.ts';
import type { Options } from './options.ts';
import { measureReads, type Reads } from './reads.ts';
import { type Context, reportComparison, reportGrowth, reportReads, reportSoak } from './report.ts';
import { runSoak } from './soak.ts';
import type { Target } from './targets.ts';
import { createTestBed, type TestBed } from './test-bed.ts';

type Run = { options: Options; signal: AbortSignal };

/** Runs what the options ask for and reports it. Returns how many things went wrong: 0 is a run without a flaw. */
export const runBenchmark = async ({ options, signal }: Run): Promise<number> => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-bench-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const server = await startDatabase();
  stack.defer(server.stop);
  const generator = await chooseLoadGenerator(folder);
  const { quietPeers } = options;
  const openTestBed: OpenTestBed = (purpose, owner) =>
    createTestBed({ serverUrl: server.url, purpose, generator, folder, signal, quietPeers, stack: owner });
  const testBed = await openTestBed('main', stack);
  const context: Context = {
    date: new Date().toISOString(),
    machine: readMachine(),
    versions: await readVersions(generator.name),
    postgres: { server: server.embedded ? 'embedded' : 'DATABASE_URL', ...(await testBed.table.settings()) },
    workers: process.env.WORKERS ?? '1',
    options,
  };
  // Awaited here: what the stack holds is let go when this function returns.
  return await runParts({ testBed, openTestBed, options, signal, context });
};

type OpenTestBed = (purpose: string, owner: AsyncDisposableStack) => Promise<TestBed>;
type Parts = Run & { testBed: TestBed; openTestBed: OpenTestBed; context: Context };

const runParts = async ({ testBed, openTestBed, options, signal, context }: Parts): Promise<number> => {
  const { databaseUrl, table, targets, store } = testBed;
  let failures = 0;
  if (options.rounds > 0) {
    const comparison = await compare({ targets: chosen(targets, options.only), table, options, signal });
    await reportComparison(comparison, context);
    failures += countFailures(comparison);
  }
  if (options.readRounds > 0) {
    const peer = targets.find(({ id }) => id === 'express-prisma') as Target;
    const { readRounds: rounds, seconds } = options;
    const reads = await measureReads({ store, peer, databaseUrl, table, rounds, seconds, signal });
    await reportReads(reads, context);
    failures += countReadFailures(reads);
  }
  if (options.growth) {
    await using stack = new AsyncDisposableStack();
    const empty = await openTestBed('empty', stack);
    const { growthRows: rows, seconds } = options;
    const steps = await measureGrowth({ growing: testBed, empty, rows, seconds, signal });
    await reportGrowth(steps, context);
    failures += countMismatches(steps.flatMap(measurementsOf));
  }
  if (options.soakMinutes > 0) {
    const soak = await runSoak({ store, table, minutes: options.soakMinutes, signal });
    await reportSoak(soak, context);
    failures += countMismatches([soak]);
  }
  return failures;
};

const chosen = (targets: Target[], only: readonly string[]): Target[] => {
  const ids = targets.map(({ id }) => id);
  const unknown = only.filter((id) => !ids.includes(id));
  if (unknown.length > 0) throw new BenchError(`--only names ${unknown.join(', ')}; targets are ${ids.join(', ')}`);
  return only.length === 0 ? targets : targets.filter(({ id }) => only.includes(id));
};

const countMismatches = (measurements: Measurement[]) => measurements.filter(({ mismatch }) => mismatch).length;

/** A peer that is missing is reported and no failure; the store's absence is one. */
const countFailures = ({ results, unavailable }: Comparison) =>
  results.flatMap(({ rounds }) => rounds).filter(({ mismatch }) => mismatch).length + countMissingStore(unavailable);

const countMissingStore = (unavailable: Unavailable[]) => unavailable.filter(({ target }) => target === 'store').length;

/** Every answer is to be what was asked for: nothing is written that could be in its way. */
const countReadFailures = ({ plants, pages, unavailable }: Reads) =>
  [...plants, ...pages].flatMap(({ rounds }) => rounds).filter((round) => round.ok === 0 || countNotOk(round) > 0)
    .length + countMissingStore(unavailable);
