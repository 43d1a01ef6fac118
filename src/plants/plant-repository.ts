import type { Database } from '../database/database.ts';
import type { NewPlant } from './plant.ts';

export const createPlantRepository = ({ database }: { database: Database }) => ({
  /**
   * Stores plants of different ids in one transaction. A plant whose id is taken is left out and changes nothing.
   * @returns the ids that were free
   */
  insert: async (plants: NewPlant[]): Promise<Set<bigint>> => {
    const ids = plants.map(({ id }) => id);
    const names = plants.map(({ name }) => name);
    const tags = plants.map(({ tag }) => tag ?? null);
    // The ids are text in an array's notation, and come back only where some were taken: Prisma spends as much time on
    // bigints, in and out, as PostgreSQL takes to store them.
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
