import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPostgresServer, type PostgresServer } from '../support/postgres-server.ts';
import type { Fault, World } from './fault.ts';
import { faults } from './faults/all.ts';
import { readOptions, usage } from './options.ts';
import { formatReport, isBroken, type Result } from './report.ts';
import { createStore, runStoreCommand, type Store } from './store.ts';

/** `npm run test:faults`: causes one fault after another under load, and reports which promises the store kept. */

// Clean-up runs when this process exits.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

const options = readOptions(process.argv.slice(2));
const say = (line: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`);

const chosen = faults.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
const unknown = options.only.filter((name) => !faults.some((fault) => fault.name === name));

/** Runs one fault on a database without plants, then stops its stores. */
const runFault = async (fault: Fault, world: Omit<World, 'startStore' | 'folder'>, root: string): Promise<Result> => {
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  const obstacle = fault.obstacle?.();
  if (obstacle) return { fault, seconds: 0, obstacle };
  const folder = join(root, fault.name);
  mkdirSync(folder, { mode: 0o755 });
  const stores: Store[] = [];
  let started = 0;
  const startStore: World['startStore'] = async (environment = {}, databaseUrl = world.postgres.url) => {
    const store = await createStore({ databaseUrl, environment, logFile: join(folder, `store-${started++}.log`) });
    stores.push(store);
    return store;
  };
  try {
    await world.postgres.query('TRUNCATE plants');
    return { fault, findings: await fault.run({ ...world, folder, startStore }), seconds: seconds() };
  } catch (error) {
    return { fault, seconds: seconds(), failure: (error as Error).stack ?? String(error) };
  } finally {
    await Promise.all(stores.map((store) => store.kill()));
  }
};

const prepare = async (postgres: PostgresServer) => {
  await postgres.start();
  await runStoreCommand(postgres.url, 'migrate');
  return runStoreCommand(postgres.url, 'token', 'create', '--name', 'faults');
};

const runAll = async (): Promise<Result[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-faults-'));
  chmodSync(folder, 0o755);
  process.on('exit', () => {
    if (options.keep) say(`The logs are in ${folder}`);
    else rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  const postgres = await createPostgresServer({ folder, name: 'postgres' });
  const results: Result[] = [];
  try {
    const token = await prepare(postgres);
    for (const [index, fault] of chosen.entries()) {
      say(`[${index + 1}/${chosen.length}] ${fault.title}`);
      const result = await runFault(fault, { postgres, token, short: options.short, say }, folder);
      results.push(result);
      if ('findings' in result) for (const note of result.findings.notes) say(`      ${note}`);
      if (isBroken(result)) options.keep = true;
    }
  } finally {
    await postgres.kill();
  }
  return results;
};

const main = async (): Promise<number> => {
  if (options.help || options.list || unknown.length > 0) {
    const names = faults.map(({ name, title }) => `  ${name.padEnd(22)}${title}\n`).join('');
    process.stdout.write(options.help ? `${usage}\n${names}` : names);
    return unknown.length > 0 ? 1 : 0;
  }
  const results = await runAll();
  const form = options.short ? 'A short run. For reliable figures, run it without --short.' : 'A long run.';
  process.stdout.write(`\n${formatReport(results)}\n${form}\n`);
  return results.some(isBroken) ? 1 : 0;
};

process.exit(await main());
