import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { BenchError, reasonOf, versionOf } from './command.ts';
import { startDatabaseServer } from './database/database.ts';
import type { Bench } from './measurements/bench.ts';
import { measureImports } from './measurements/imports.ts';
import { measureKeys } from './measurements/keys.ts';
import { measureMemory } from './measurements/memory.ts';
import { measurePosts } from './measurements/posts.ts';
import { measureReads } from './measurements/reads.ts';
import { measureSearchIndex } from './measurements/search-index.ts';
import { measureStores } from './measurements/stores.ts';
import type { MeasurementName, Options } from './options.ts';
import { type Group, openReport } from './report.ts';
import { createPeers } from './targets/peers.ts';
import { openStore } from './targets/store.ts';

const ROOT = process.env.PLANT_STORE_ROOT || join(import.meta.dirname, '..');
const TOOLS = ['wrk', 'pgbench', 'psql', 'curl'];
/** From which wrk draws the names of new plants. Each of its threads reads them as it starts: more would take too long. */
const NAMES = 20_000;

const measurements: Record<MeasurementName, (bench: Bench) => Promise<Group[]>> = {
  posts: measurePosts,
  keys: measureKeys,
  memory: measureMemory,
  reads: measureReads,
  imports: measureImports,
  'search-index': measureSearchIndex,
  stores: measureStores,
};

/** Runs the measurements that the options select, and reports them. Returns the number of failures. */
export const runBenchmark = async (options: Options, signal: AbortSignal): Promise<number> => {
  await checkTools();
  await using stack = new AsyncDisposableStack();
  const bench = await openBench(options, signal, stack);
  const add = await openReport({
    command: ['npm run bench', ...(options.isFull ? [] : ['--', ...process.argv.slice(2)])].join(' '),
    commits: bench.stores.map(({ commit }) => commit),
    postgres: await bench.store.table.settings(),
    name: options.isFull ? 'latest' : 'partial',
  });
  let failures = 0;
  for (const name of options.measure) {
    const groups = await measurements[name](bench).catch((error: unknown): Group[] => {
      signal.throwIfAborted();
      return [{ title: name, samples: [], failures: [reasonOf(error)] }];
    });
    await add(groups);
    failures += groups.flatMap((group) => group.failures).length;
  }
  return failures;
};

const checkTools = async () => {
  const versions = await Promise.all(TOOLS.map(versionOf));
  const missing = TOOLS.filter((_, index) => versions[index] === undefined);
  if (missing.length > 0)
    throw new BenchError(`Not installed: ${missing.join(', ')}. bench/README.md says how to install them`);
};

const openBench = async (options: Options, signal: AbortSignal, stack: AsyncDisposableStack): Promise<Bench> => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-bench-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const serverUrl = await startDatabaseServer(stack);
  const open = (id: 'store' | 'other', root: string) =>
    openStore({ id, root: resolve(root), serverUrl, folder, signal }, stack);
  const store = await open('store', ROOT);
  const stores = options.compare ? [store, await open('other', options.compare)] : [store];
  await writeFile(join(folder, 'members.txt'), `${(await store.table.members(NAMES)).join('\n')}\n`);
  const peers = options.compare ? [] : createPeers({ store, folder, signal });
  return { options, store, stores, peers, folder, signal };
};
