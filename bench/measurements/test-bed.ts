import { createDatabase } from '../database/database.ts';
import { openPlantsTable, type PlantsTable } from '../database/plants-table.ts';
import { BenchError, reasonOf } from '../processes/bench-error.ts';
import { type PreparedStore, prepareStore } from '../processes/store.ts';
import { say } from '../reports/progress.ts';
import { createTargets, type Target, type TargetSettings } from './targets.ts';

/** A database, and the targets that use it. `store` is one of the targets. */
export type TestBed = {
  databaseUrl: string;
  table: PlantsTable;
  targets: Target[];
  store: Target;
  /** Or why it cannot run. */
  preparedStore: PreparedStore | BenchError;
};

type CreateTestBed = Omit<TargetSettings, 'databaseUrl' | 'store'> & {
  serverUrl: string;
  /** Part of the database's name. */
  purpose: string;
};

/** `stack` drops the database. If the store cannot run, this prints why, and opening its target fails. */
export const createTestBed = async (
  { serverUrl, purpose, ...settings }: CreateTestBed,
  stack: AsyncDisposableStack,
): Promise<TestBed> => {
  const { url: databaseUrl, drop } = await createDatabase(serverUrl, purpose);
  stack.defer(drop);
  const preparedStore = await prepareStore(databaseUrl, settings.signal).catch((error: unknown) => {
    settings.signal.throwIfAborted();
    say(`The store cannot run: ${reasonOf(error)}`);
    return new BenchError(reasonOf(error));
  });
  // After the migrations, so that the table knows the store's indexes.
  const table = await openPlantsTable(databaseUrl);
  stack.defer(table.close);
  const targets = createTargets({ ...settings, databaseUrl, store: preparedStore });
  const store = targets.find(({ id }) => id === 'store') as Target;
  return { databaseUrl, table, targets, store, preparedStore };
};
