import type { Database } from '../database/database.ts';
import { createDistributionCheck } from '../database/distribution.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { NewPlant, PlantChange, StoredPlant } from './plant.ts';
import { contentBytes, createPlantPages } from './plant-pages.ts';
import { onCitus, onPostgres } from './plant-statements.ts';
import { storeBatch } from './store-batch.ts';

/** How long a statement that writes may wait for the lock of another transaction, in ms, unless a caller says otherwise. */
export const LOCK_TIMEOUT = 400;
/** The maximum size of a name and tag in a batch of reads, in bytes: 64 of them are 1 MiB. */
const MAX_SHARED_READ_BYTES = 16_384;

type Row = { id: bigint; name: string; tag: string | null };

export const createPlantRepository = ({ database }: { database: Database }) => {
  const isDistributed = createDistributionCheck((sql) => database.$queryRawUnsafe(sql));
  const statements = async () => ((await isDistributed()) ? onCitus : onPostgres);
  return {
    /** Whether the table of plants is distributed. Asks the database only once. */
    isDistributed,

    /** Stores plants; see `storeBatch`. `lockTimeout`: how long to wait for the lock of another transaction, in ms. */
    create: (plants: readonly NewPlant[], lockTimeout = LOCK_TIMEOUT): Promise<(undefined | Error)[]> =>
      storeBatch(plants, async (rows) => (await statements()).insert(database, rows, lockTimeout)),

    /** @returns the existing plants by id; undefined for a plant that is too long for a batch: use `findLong` */
    findByIds: async (ids: bigint[]): Promise<Map<bigint, StoredPlant | undefined>> => {
      // The name is null if the plant is too long.
      const rows = await database.$queryRaw<(Omit<Row, 'name'> & { name: string | null })[]>`
        SELECT id, CASE WHEN shown THEN name END AS name, CASE WHEN shown THEN tag END AS tag
        FROM (
          SELECT *, ${contentBytes} <= ${MAX_SHARED_READ_BYTES} AS shown
          FROM plants WHERE id = ANY(${`{${ids}}`}::bigint[])
        ) AS found`;
      return new Map(
        rows.map(({ id, name, tag }) => [id, name === null ? undefined : toStoredPlant({ id, name, tag })]),
      );
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
    update: async (
      id: bigint,
      change: PlantChange,
      expected?: StoredPlant,
      lockTimeout = LOCK_TIMEOUT,
    ): Promise<StoredPlant | undefined> => {
      const { waitForLocks } = await statements();
      const [row] = await database.$queryRaw<Row[]>`
        UPDATE plants SET ${setTo(change)} ${waitForLocks(Prisma.sql`FROM`, lockTimeout)}
        WHERE ${isPlant(id, expected)} RETURNING id, name, tag`;
      return row && toStoredPlant(row);
    },

    /** @returns whether there was a plant to delete */
    delete: async (id: bigint, expected?: StoredPlant, lockTimeout = LOCK_TIMEOUT): Promise<boolean> => {
      const { waitForLocks } = await statements();
      const count = await database.$executeRaw`
        DELETE FROM plants ${waitForLocks(Prisma.sql`USING`, lockTimeout)} WHERE ${isPlant(id, expected)}`;
      return count > 0;
    },

    ...createPlantPages({ database, readPages: async (pages) => (await statements()).readPages(database, pages) }),
  };
};

export type PlantRepository = ReturnType<typeof createPlantRepository>;

/** The columns after a change. */
export const setTo = ({ name, tag }: PlantChange) =>
  Prisma.sql`name = coalesce(${name}::text, name), tag = CASE WHEN ${tag === undefined} THEN tag ELSE ${tag}::text END`;

export const isPlant = (id: bigint, expected: StoredPlant | undefined) =>
  expected === undefined
    ? Prisma.sql`id = ${id}`
    : Prisma.sql`id = ${id} AND name = ${expected.name} AND tag IS NOT DISTINCT FROM ${expected.tag ?? null}`;

const toStoredPlant = ({ id, name, tag }: Row): StoredPlant => ({ id, name, tag: tag ?? undefined });
