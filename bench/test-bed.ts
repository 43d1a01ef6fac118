/** What can be measured on a database of its own. */
import { BenchError, reasonOf } from './bench-error.ts';
import { openPlantsTable, type PlantsTable } from './plants-table.ts';
import { say } from './progress.ts';
import { createScratchDatabase } from './scratch-database.ts';
import { prepareStore } from './store.ts';
import { createTargets, type Setting, type Target } from './targets.ts';

/** `store` is one of the targets. */
export type TestBed = { databaseUrl: string; table: PlantsTable; targets: Target[]; store: Target };

type CreateTestBed = Pick<Setting, 'generator' | 'folder' | 'signal' | 'quietPeers'> & {
  serverUrl: string;
  /** In the database's name. */
  purpose: string;
  /** Closes the table, and drops the database. */
  stack: AsyncDisposableStack;
};

/** Where the store cannot run, that is said, and its target cannot be opened. */
export const createTestBed = async ({ serverUrl, purpose, stack, ...rest }: CreateTestBed): Promise<TestBed> => {
  const database = await createScratchDatabase(serverUrl, purpose);
  stack.defer(database.drop);
  const table = await openPlantsTable(database.url);
  stack.defer(table.close);
  const prepared = await prepareStore(database.url, rest.signal).catch((error: unknown) => {
    rest.signal.throwIfAborted();
    return new BenchError(reasonOf(error));
  });
  if (prepared instanceof BenchError) say(`The store cannot run: ${prepared.message}`);
  await table.create();
  const targets = createTargets({ ...rest, databaseUrl: database.url, store: prepared });
  return { databaseUrl: database.url, table, targets, store: targets.find(({ id }) => id === 'store') as Target };
};
