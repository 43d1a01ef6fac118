import type { Database } from '../database/database.ts';
import type { NewPlant } from './plant.ts';

export const createPlantRepository = ({ database }: { database: Database }) => ({
  /**
   * Stores plants of different ids in one transaction. A plant whose id is taken is left out and changes nothing.
   * @returns the ids that were free
   */
  insert: async (plants: NewPlant[]): Promise<Set<bigint>> => {
    const ids = plants.map(({ id }) => id);
    const names = textArray(plants.map(({ name }) => name));
    const tags = textArray(plants.map(({ tag }) => tag));
    // Arrays go as text, in PostgreSQL's notation, and ids come back only where some were taken: element by element,
    // Prisma spends more time on them than the rest of the request takes.
    const [row] = await database.$queryRaw<[{ free: bigint[] | null }]>`
      WITH stored AS (
        INSERT INTO plants (id, name, tag)
        SELECT * FROM unnest(${`{${ids}}`}::bigint[], ${names}::text[], ${tags}::text[])
        ON CONFLICT (id) DO NOTHING
        RETURNING id
      )
      SELECT CASE WHEN count(*) < ${plants.length} THEN coalesce(array_agg(id), '{}') END AS free FROM stored`;
    return new Set(row.free ?? ids);
  },
});

/** PostgreSQL's notation of an array (its manual, §8.15.6). */
const textArray = (texts: (string | undefined)[]): string =>
  `{${texts.map((text) => (text === undefined ? 'NULL' : `"${text.replace(/[\\"]/g, '\\$&')}"`))}}`;
