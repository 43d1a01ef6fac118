import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDatabaseServer } from './database/database.ts';
import { chooseLoadGenerator } from './load/load-generator.ts';
import { measureBulk } from './measurements/bulk.ts';
import { compare } from './measurements/comparison.ts';
import { measureGrowth } from './measurements/growth.ts';
import { measureReads } from './measurements/reads.ts';
import { runSoak } from './measurements/soak.ts';
import type { Target } from './measurements/targets.ts';
import { createTestBed, type TestBed } from './measurements/test-bed.ts';
import type { Options } from './options.ts';
import { BenchError } from './processes/bench-error.ts';
import { bulkReport } from './reports/bulk-report.ts';
import { comparisonReport } from './reports/comparison-report.ts';
import { growthReport } from './reports/growth-report.ts';
import { readMachine, readVersions } from './reports/machine.ts';
import { readsReport } from './reports/reads-report.ts';
import { type Context, publish } from './reports/report.ts';
import {
  type BulkId,
  bulkMismatches,
  countNotOk,
  measurementsOf,
  mismatchesOf,
  type Result,
  type Unavailable,
} from './reports/results.ts';
import { soakReport } from './reports/soak-report.ts';

type OpenTestBed = (purpose: string, stack: AsyncDisposableStack) => Promise<TestBed>;
type Run = {
  options: Options;
  signal: AbortSignal;
  context: Context;
  testBed: TestBed;
  openTestBed: OpenTestBed;
  folder: string;
  postgresPid: number | undefined;
};

/** Runs the measurements that the options select, and reports them. Returns the number of failures. */
export const runBenchmark = async (options: Options, signal: AbortSignal): Promise<number> => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-bench-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const server = await startDatabaseServer();
  stack.defer(server.stop);
  const generator = await chooseLoadGenerator(folder);
  const { quietPeers } = options;
  const openTestBed: OpenTestBed = (purpose, owner) =>
    createTestBed({ serverUrl: server.url, purpose, generator, folder, signal, quietPeers }, owner);
  const testBed = await openTestBed('main', stack);
  const context: Context = {
    date: new Date().toISOString(),
    machine: readMachine(),
    versions: await readVersions(generator.name),
    postgres: { server: server.embedded ? 'embedded' : 'DATABASE_URL', ...(await testBed.table.settings()) },
    workers: process.env.WORKERS ?? '1',
    options,
  };
  const run: Run = { options, signal, context, testBed, openTestBed, folder, postgresPid: server.pid };
  let failures = 0;
  if (options.rounds > 0) failures += await runComparison(run);
  if (options.readRounds > 0) failures += await runReads(run);
  if (options.bulk) failures += await runBulk(run);
  if (options.growth) failures += await runGrowth(run);
  if (options.soakMinutes > 0) failures += await runSoakTest(run);
  return failures;
};

const runComparison = async ({ options, signal, context, testBed: { targets, table } }: Run) => {
  const comparison = await compare(select(targets, options.only), { ...options, table, signal });
  await publish(comparisonReport(comparison, options, context), context, options.partial.comparison);
  return mismatchesOf(roundsOf(comparison.results)).length + countMissingStore(comparison.unavailable);
};

const runReads = async ({ options, signal, context, testBed: { targets, ...testBed } }: Run) => {
  const peer = targets.find(({ id }) => id === 'express-prisma') as Target;
  const method = { ...options, rounds: options.readRounds };
  const reads = await measureReads({ ...testBed, ...method, peer, signal });
  await publish(readsReport(reads, method), context, options.partial.reads);
  // Nothing is written meanwhile, so that every answer must be the expected one.
  const failed = roundsOf([...reads.plants, ...reads.pages]).filter((round) => round.ok === 0 || countNotOk(round) > 0);
  return failed.length + countMissingStore(reads.unavailable);
};

/** Without them there is less to compare with, which is only reported. */
const BULK_PEERS: string[] = ['psql-load', 'psql-unload', 'create-many'] satisfies BulkId[];

const runBulk = async ({ options, signal, context, testBed: { targets, ...testBed }, folder, postgresPid }: Run) => {
  const peer = targets.find(({ id }) => id === 'express-prisma') as Target;
  const { bulkRows: rows, seconds } = options;
  const bulk = await measureBulk({ ...testBed, rows, seconds, peer, folder, postgresPid, signal });
  await publish(bulkReport(bulk, options), context, options.partial.bulk);
  const missing = bulk.unavailable.filter(({ target }) => !BULK_PEERS.includes(target));
  return bulkMismatches(bulk).length + missing.length;
};

const runGrowth = async ({ options, signal, context, testBed: grown, openTestBed }: Run) => {
  await using stack = new AsyncDisposableStack();
  const empty = await openTestBed('empty', stack);
  const { growthRows: rows, seconds } = options;
  const steps = await measureGrowth({ grown, empty, rows, seconds, signal });
  await publish(growthReport(steps, options, context), context, options.partial.growth);
  return mismatchesOf(steps.flatMap(measurementsOf)).length;
};

const runSoakTest = async ({ options, signal, context, testBed: { store, table } }: Run) => {
  const soak = await runSoak({ store, table, minutes: options.soakMinutes, signal });
  await publish(soakReport(soak, options, context), context, options.partial.soak);
  return mismatchesOf([soak]).length;
};

const select = (targets: Target[], only: readonly string[]): Target[] => {
  const ids = targets.map(({ id }) => id);
  const unknown = only.filter((id) => !ids.includes(id));
  if (unknown.length > 0)
    throw new BenchError(`--only: unknown target ${unknown.join(', ')}. Targets: ${ids.join(', ')}`);
  return only.length === 0 ? targets : targets.filter(({ id }) => only.includes(id));
};

const roundsOf = (results: Result[]) => results.flatMap(({ rounds }) => rounds);

/** A missing peer is only reported; a missing store is a failure. */
const countMissingStore = (unavailable: Unavailable[]) => unavailable.filter(({ target }) => target === 'store').length;
