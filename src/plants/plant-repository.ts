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
    const rows = await database.$queryRaw<{ id: bigint }[]>`
      INSERT INTO plants (id, name, tag)
      SELECT * FROM unnest(${ids}::bigint[], ${names}::text[], ${tags}::text[])
      ON CONFLICT (id) DO NOTHING
      RETURNING id`;
    return new Set(rows.map(({ id }) => id));
  },
});
