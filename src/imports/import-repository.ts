import type { OpenSession } from '../database/session.ts';
import type { Statements } from '../database/statements.ts';
import type { NewPlant } from '../plants/plant.ts';
import { storeBatch } from '../plants/store-batch.ts';
import type { ChunkWriter, StoreRows } from './import-lanes.ts';
import { CREATE_IMPORTED, check, createInsertUntilTaken, insert, type Run, replace } from './import-statements.ts';
import type { ImportOptions } from './import-summary.ts';
import type { PlantRow, RowOutcome } from './import-tally.ts';

/** Stores the rows of one import. */
export type ImportWriter = ChunkWriter & {
  /** Commits an atomic import. Without it, nothing is stored. */
  commit: () => Promise<void>;
};

/** The number of chunks of an import that are stored concurrently, unless it has a session. */
export const LANES = 2;

type WriterOptions = Pick<ImportOptions, 'onConflict' | 'dryRun' | 'atomic'>;

export type ImportRepository = {
  /** @throws errors of PostgreSQL */
  open: (options: WriterOptions) => Promise<ImportWriter>;
};

/**
 * Decides when to store the rows of a chunk, with one call of `store` or several.
 * `isTransaction`: earlier rows hold locks until the commit, so the schedule must not pause.
 */
export type Schedule = (
  rows: PlantRow[],
  store: StoreRows,
  options: { isTransaction: boolean },
) => Promise<RowOutcome[]>;

type ImportRepositoryOptions = {
  /** Connections that imports share. */
  shared: Statements;
  openSession: OpenSession;
  schedule?: Schedule;
};

export const createImportRepository = ({
  shared,
  openSession,
  schedule = (rows, store) => store(rows),
}: ImportRepositoryOptions): ImportRepository => {
  /** Stores rows with statements on any connection: the table itself tells which ids occurred earlier in the import. */
  const openOnPool = ({ onConflict }: WriterOptions): ImportWriter => {
    const run = onConflict === 'error' ? createInsertUntilTaken() : insert;
    const storeRows: StoreRows = (rows) => storeBatch(plantsOf(rows), (plants) => run(shared, plants));
    return {
      store: (rows) => schedule(rows, storeRows, { isTransaction: false }),
      lanes: LANES,
      commit: async () => {},
      close: async () => {},
    };
  };

  /** Stores rows in a session, which has the transaction or the ids of earlier rows. */
  const openInSession = async ({ onConflict, dryRun, atomic }: WriterOptions): Promise<ImportWriter> => {
    const session = await openSession();
    try {
      const isTransaction = atomic && !dryRun;
      if (isTransaction) await session.query('BEGIN');
      if (dryRun || onConflict === 'replace') await session.query(CREATE_IMPORTED);
      const run = statementFor({ onConflict, dryRun });
      const send = (rows: NewPlant[]) => (isTransaction ? withinSavepoint(session, run, rows) : run(session, rows));
      const storeRows: StoreRows = (rows) => storeBatch(plantsOf(rows), send);
      return {
        store: (rows) => schedule(rows, storeRows, { isTransaction }),
        lanes: 1,
        commit: async () => {
          if (isTransaction) await session.query('COMMIT');
        },
        close: session.close,
      };
    } catch (error) {
      await session.close();
      throw error;
    }
  };

  return {
    open: async (options) =>
      options.dryRun || options.atomic || options.onConflict === 'replace'
        ? openInSession(options)
        : openOnPool(options),
  };
};

const plantsOf = (rows: PlantRow[]): NewPlant[] => rows.map(({ plant }) => plant);

const statementFor = ({ onConflict, dryRun }: Pick<ImportOptions, 'onConflict' | 'dryRun'>): Run => {
  const replaces = onConflict === 'replace';
  if (dryRun) return check(replaces);
  return replaces ? replace : insert;
};

/** Keeps a failed statement from aborting the whole transaction. */
const withinSavepoint = async (session: Statements, run: Run, rows: NewPlant[]): ReturnType<Run> => {
  await session.query('SAVEPOINT chunk');
  try {
    return await run(session, rows);
  } catch (error) {
    // Fails, too, if the connection is lost; the original error says more.
    await session.query('ROLLBACK TO SAVEPOINT chunk').catch(() => {});
    throw error;
  }
};
