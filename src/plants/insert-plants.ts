import type { Statements } from '../database/statements.ts';
import type { NewPlant } from './plant.ts';
import { createdOnly } from './store-batch.ts';

/** Skips plants whose id is taken. Returns the ids that were stored only if some were not. $1 to $3: see `toArrays`. */
const INSERT_OR_SKIP = `
  WITH stored AS (
    INSERT INTO plants (id, name, tag) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])
    ON CONFLICT (id) DO NOTHING RETURNING id
  )
  SELECT CASE WHEN count(*) < cardinality($1::bigint[]) THEN coalesce(array_agg(id::text), '{}') END AS created FROM stored`;

/** Stores plants with distinct ids, except those whose id is taken. @returns the outcome for an id */
export const insertPlants = async (statements: Statements, plants: readonly NewPlant[]) => {
  const { ids, names, tags } = toArrays(plants);
  const [row] = await statements.query<{ created: string[] | null }>(INSERT_OR_SKIP, [ids, names, tags]);
  return createdOnly(row?.created?.map(BigInt) ?? null);
};

/** Plants as arrays of columns, in PostgreSQL's notation (manual §8.15.6). */
export const toArrays = (plants: readonly NewPlant[]) => ({
  ids: `{${plants.map(({ id }) => id)}}`,
  names: textArray(plants.map(({ name }) => name)),
  tags: textArray(plants.map(({ tag }) => tag)),
});

/** A `text[]` in PostgreSQL's notation (manual §8.15.6). */
const textArray = (texts: (string | undefined)[]): string =>
  `{${texts.map((text) => (text === undefined ? 'NULL' : `"${text.replace(/[\\"]/g, '\\$&')}"`))}}`;
