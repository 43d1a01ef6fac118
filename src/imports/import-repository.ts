import { isUnknownOnCitus, toCitusWriteError } from '../database/database-error.ts';
import { createDistributionCheck } from '../database/distribution.ts';
import type { PoolStatements, Statements } from '../database/statements.ts';
import { StoreError } from '../errors.ts';
import { insertStatement, toArrays } from '../plants/insert-plants.ts';
import { idTaken, type NewPlant } from '../plants/plant.ts';
import type { ImportOptions, PlantRow } from './import.ts';
import type { RowOutcome } from './import-tally.ts';
import { storeBatch } from './store-batch.ts';

/** The number of chunks of an import that are stored concurrently, unless it has a connection of its own. */
export const LANES = 2;

/** Stores rows. @returns their outcomes, in the same order */
export type StoreRows = (rows: PlantRow[]) => Promise<RowOutcome[]>;

/** Stores the rows of one import. */
export type ImportWriter = {
  store: StoreRows;
  /** The maximum number of concurrent calls of `store`. */
  lanes: number;
  /** Commits an atomic import. Without it, nothing is stored. */
  commit?: () => Promise<void>;
  close?: () => void;
};

/** Whether an id occurred in the import is known in a session only, and connections go through a pooler. */
const NEEDS_SESSION =
  'Dry runs, and imports that replace plants, need DIRECT_URL, a URL of PostgreSQL without a pooler, which the operator has not ' +
  'set. Nothing is stored. Only atomic imports do without it.';

type WriterOptions = Pick<ImportOptions, 'onConflict' | 'dryRun' | 'atomic'>;

export type ImportRepository = {
  /** `cut` closes the connections of the statements in progress. @throws {StoreError} 1005 errors of PostgreSQL */
  open: (options: WriterOptions, cut?: AbortSignal) => Promise<ImportWriter>;
};

/** Stores or checks plants with distinct ids. @returns the outcome for an id */
type Run = (statements: Statements, plants: NewPlant[]) => Promise<(id: bigint) => RowOutcome>;

export const createImportRepository = ({
  statements,
}: {
  statements: Pick<PoolStatements, 'query' | 'hasSessions' | 'begin' | 'until'>;
}): ImportRepository => {
  const isDistributed = createDistributionCheck(statements.query);

  /** For statements that commit on their own: a worker of Citus may have committed one that fails. */
  const committing =
    (run: Run): Run =>
    (own, plants) =>
      run(own, plants).catch(async (error: unknown) => {
        // If the database cannot be asked, it may be Citus.
        throw isUnknownOnCitus(error) && (await isDistributed().catch(() => true)) ? toCitusWriteError(error) : error;
      });

  return {
    open: async ({ onConflict, dryRun, atomic }, cut) => {
      // On any connection: the table itself tells which ids occurred earlier in the import.
      if (!dryRun && !atomic && onConflict !== 'replace') {
        return { store: storeWith(statements.until(cut), committing(insertPlants)), lanes: LANES };
      }
      if (!atomic && !statements.hasSessions) throw new StoreError('parameterWrong', NEEDS_SESSION);
      const own = await statements.until(cut).reserve();
      try {
        if (atomic) await own.query(statements.begin);
        if (dryRun || onConflict === 'replace') await own.query(`${CREATE_IMPORTED} ${atomic ? 'ON COMMIT DROP' : ''}`);
        const run = dryRun ? check(onConflict) : onConflict === 'replace' ? replace : insertPlants;
        return {
          store: storeWith(own, atomic ? withinSavepoint(run) : committing(run)),
          lanes: 1,
          commit: async () => void (atomic && (await own.query('COMMIT'))),
          close: own.release,
        };
      } catch (error) {
        own.release();
        throw error;
      }
    },
  };
};

const storeWith = (statements: Statements, run: Run): StoreRows => {
  const send = (plants: NewPlant[]) => run(statements, plants);
  return (rows) =>
    storeBatch(
      rows.map(({ plant }) => plant),
      send,
    );
};

/** Skips plants whose id is taken. */
const insertPlants: Run = async (statements, plants) => {
  const { text, values } = insertStatement(plants, false);
  return createdOnly((await statements.query<{ id: string }>(text, values)).map(({ id }) => id));
};

/** @param created the ids that were free */
const createdOnly = (created: readonly string[] = []) => {
  const ids = new Set(created.map(BigInt));
  return (id: bigint): RowOutcome => (ids.has(id) ? undefined : idTaken(id));
};

/** Keeps a failed statement from aborting the whole transaction. */
const withinSavepoint =
  (run: Run): Run =>
  async (statements, plants) => {
    await statements.query('SAVEPOINT chunk');
    try {
      return await run(statements, plants);
    } catch (error) {
      // Fails, too, if the connection is lost; the original error says more.
      await statements.query('ROLLBACK TO SAVEPOINT chunk').catch(() => {});
      throw error;
    }
  };

/** The ids of earlier rows of the import. Kept in PostgreSQL because twelve million ids would take 100 MB of memory here. */
const CREATE_IMPORTED = 'CREATE TEMPORARY TABLE imported (id bigint PRIMARY KEY)';

/** Adds ids to the table `imported`, and selects those that are new there. $1: the ids. */
const FRESH = `fresh AS (
  INSERT INTO pg_temp.imported SELECT * FROM unnest($1::bigint[]) ON CONFLICT DO NOTHING RETURNING id
)`;

/** Does not write a plant that would not change. `xmax` is 0 if the row was inserted, not updated. */
const REPLACE = `
  WITH ${FRESH}, stored AS (
    INSERT INTO plants (id, name, tag)
    SELECT given.* FROM unnest($1::bigint[], $2::text[], $3::text[]) AS given (id, name, tag) JOIN fresh USING (id)
    ORDER BY id
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, tag = excluded.tag
      WHERE (plants.name, plants.tag) IS DISTINCT FROM (excluded.name, excluded.tag)
    RETURNING id, xmax = 0 AS is_new
  )
  SELECT ARRAY(SELECT id FROM stored WHERE is_new) AS created, ARRAY(SELECT id FROM fresh) AS fresh`;

const replace: Run = async (statements, plants) => {
  const { ids, names, tags } = toArrays(plants);
  const [row] = await statements.query<IdsByOutcome>(REPLACE, [ids, names, tags]);
  return createdOrReplaced(row);
};

const CHECK = `
  WITH ${FRESH}
  SELECT ARRAY(SELECT id FROM fresh EXCEPT SELECT id FROM plants WHERE id = ANY($1::bigint[])) AS created,
    ARRAY(SELECT id FROM fresh) AS fresh`;

/** Stores no plants; only adds the ids to the table `imported`. */
const check =
  (onConflict: ImportOptions['onConflict']): Run =>
  async (statements, plants) => {
    const [row] = await statements.query<IdsByOutcome>(CHECK, [toArrays(plants).ids]);
    return onConflict === 'replace' ? createdOrReplaced(row) : createdOnly(row?.created);
  };

type IdsByOutcome = { created: string[]; fresh: string[] };

const createdOrReplaced = ({ created, fresh }: IdsByOutcome = { created: [], fresh: [] }) => {
  const [createdIds, freshIds] = [new Set(created.map(BigInt)), new Set(fresh.map(BigInt))];
  return (id: bigint): RowOutcome => {
    if (createdIds.has(id)) return undefined;
    return freshIds.has(id) ? 'replaced' : idTaken(id);
  };
};
