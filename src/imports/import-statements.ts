import { isUniqueViolation } from '../database/database-error.ts';
import type { Statements } from '../database/statements.ts';
import type { NewPlant } from '../plants/plant.ts';
import { PlantIdTakenError } from '../plants/plant-errors.ts';
import { toArrays } from '../plants/plant-repository.ts';
import { createdOnly } from '../plants/store-batch.ts';
import type { RowOutcome } from './import-tally.ts';

/** Stores or checks rows with distinct ids. @returns the outcome for an id */
export type Run = (database: Statements, rows: NewPlant[]) => Promise<(id: bigint) => RowOutcome>;

/** The ids of earlier rows of the import. Kept in PostgreSQL because twelve million ids would take 100 MB of memory here. */
export const CREATE_IMPORTED = 'CREATE TEMPORARY TABLE imported (id bigint PRIMARY KEY)';

/** Adds ids to the table `imported`, and selects those that are new there. $1: the ids. */
const FRESH = `fresh AS (
  INSERT INTO pg_temp.imported SELECT * FROM unnest($1::bigint[]) ON CONFLICT DO NOTHING RETURNING id
)`;

/** Returns the ids only if not all rows were stored. */
const insertStatement = (conflictClause = '') => `
  WITH stored AS (
    INSERT INTO plants (id, name, tag) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])
    ${conflictClause}
    RETURNING id
  )
  SELECT CASE WHEN count(*) < cardinality($1::bigint[]) THEN coalesce(array_agg(id), '{}') END AS created FROM stored`;

const runInsert =
  (statement: string): Run =>
  async (database, rows) => {
    const { ids, names, tags } = toArrays(rows);
    const [row] = await database.query<{ created: string[] | null }>(statement, [ids, names, tags]);
    return createdOnly(row?.created ? toIds(row.created) : null);
  };

export const insert = runInsert(insertStatement('ON CONFLICT (id) DO NOTHING'));

/** Fails if an id is taken. */
const insertNew = runInsert(insertStatement());

/**
 * Like `insert`, but without ON CONFLICT until an id is taken: PostgreSQL uses 8 % less CPU time. For one import. Not within a
 * transaction, which the failed statement would abort.
 */
export const createInsertUntilTaken = (): Run => {
  let isAnyTaken = false;
  return async (database, rows) => {
    if (!isAnyTaken) {
      try {
        return await insertNew(database, rows);
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        isAnyTaken = true;
      }
    }
    return insert(database, rows);
  };
};

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

export const replace: Run = async (database, rows) => {
  const { ids, names, tags } = toArrays(rows);
  const [row] = await database.query<{ created: string[]; fresh: string[] }>(REPLACE, [ids, names, tags]);
  return replacedUnless(new Set(toIds(row?.created)), new Set(toIds(row?.fresh)));
};

const CHECK = `
  WITH ${FRESH}
  SELECT ARRAY(SELECT id FROM fresh WHERE NOT EXISTS (SELECT FROM plants WHERE plants.id = fresh.id)) AS created,
    ARRAY(SELECT id FROM fresh) AS fresh`;

/** Stores no plants; only adds the ids to the table `imported`. */
export const check =
  (replaces: boolean): Run =>
  async (database, rows) => {
    const { ids } = toArrays(rows);
    const [row] = await database.query<{ created: string[]; fresh: string[] }>(CHECK, [ids]);
    const created = toIds(row?.created);
    return replaces ? replacedUnless(new Set(created), new Set(toIds(row?.fresh))) : createdOnly(created);
  };

const replacedUnless =
  (created: Set<bigint>, fresh: Set<bigint>) =>
  (id: bigint): RowOutcome => {
    if (created.has(id)) return undefined;
    return fresh.has(id) ? 'replaced' : new PlantIdTakenError(id);
  };

const toIds = (texts: string[] = []): bigint[] => texts.map(BigInt);
