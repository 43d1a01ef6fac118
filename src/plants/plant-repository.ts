import type { Database } from '../database/database.ts';
import { toArrays } from './insert-plants.ts';
import type { NewPlant, PlantChange, StoredPlant } from './plant.ts';
import { contentBytes, createPlantPages } from './plant-pages.ts';
import { createdOnly, storeBatch } from './store-batch.ts';

/** The maximum size of a name and tag in a batch of reads, in bytes: 64 of them are 1 MiB. */
const MAX_SHARED_READ_BYTES = 16_384;

type Row = { id: bigint; name: string; tag: string | null };

export const createPlantRepository = ({ database }: { database: Database }) => ({
  /** Stores plants; see `storeBatch`. */
  create: (plants: readonly NewPlant[]): Promise<(undefined | Error)[]> =>
    storeBatch(plants, (rows) => insertRows(database, rows)),

  /** @returns the existing plants by id; undefined for a plant that is too long for a batch: use `findLong` */
  findByIds: async (ids: bigint[]): Promise<Map<bigint, StoredPlant | undefined>> => {
    // The name is null if the plant is too long.
    const rows = await database.$queryRaw<(Omit<Row, 'name'> & { name: string | null })[]>`
      SELECT id, CASE WHEN shown THEN name END AS name, CASE WHEN shown THEN tag END AS tag
      FROM (
        SELECT *, ${contentBytes} <= ${MAX_SHARED_READ_BYTES} AS shown
        FROM plants WHERE id = ANY(${`{${ids}}`}::bigint[])
      ) AS found`;
    return new Map(rows.map(({ id, name, tag }) => [id, name === null ? undefined : toStoredPlant({ id, name, tag })]));
  },

  /** @returns the plant, regardless of its size; undefined if there is none */
  findLong: async (id: bigint): Promise<StoredPlant | undefined> => {
    const [row] = await database.$queryRaw<Row[]>`SELECT id, name, tag FROM plants WHERE id = ${id}`;
    return row && toStoredPlant(row);
  },

  /**
   * Changes a plant if it is stored and, if given, equals `expected`.
   * @returns the plant as it is now; undefined if there was none to change
   */
  update: async (id: bigint, change: PlantChange, expected?: StoredPlant): Promise<StoredPlant | undefined> => {
    const [row] = await database.plant.updateManyAndReturn({
      where: { id, ...(expected && contentOf(expected)) },
      data: change,
    });
    return row && toStoredPlant(row);
  },

  /** @returns whether there was a plant to delete */
  delete: async (id: bigint, expected?: StoredPlant): Promise<boolean> => {
    const { count } = await database.plant.deleteMany({ where: { id, ...(expected && contentOf(expected)) } });
    return count > 0;
  },

  ...createPlantPages({ database }),
});

export type PlantRepository = ReturnType<typeof createPlantRepository>;

const insertRows = async (database: Database, plants: NewPlant[]) => {
  const { ids, names, tags } = toArrays(plants);
  // Arrays are sent as text, in PostgreSQL's notation, and ids are returned only if some were taken: Prisma would spend
  // more time on the elements than the rest of the request takes.
  const [row] = await database.$queryRaw<[{ free: bigint[] | null }]>`
    WITH stored AS (
      INSERT INTO plants (id, name, tag)
      SELECT * FROM unnest(${ids}::bigint[], ${names}::text[], ${tags}::text[])
      ON CONFLICT (id) DO NOTHING
      RETURNING id
    )
    SELECT CASE WHEN count(*) < ${plants.length} THEN coalesce(array_agg(id), '{}') END AS free FROM stored`;
  return createdOnly(row.free);
};

const toStoredPlant = ({ id, name, tag }: Row): StoredPlant => ({ id, name, tag: tag ?? undefined });

const contentOf = ({ name, tag }: StoredPlant) => ({ name, tag: tag ?? null });
