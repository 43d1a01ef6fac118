import type { Database } from '../database/database.ts';
import { setLockTimeout } from '../database/lock-timeout.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { toArrays } from './insert-plants.ts';
import { MIN_INT64, type NewPlant } from './plant.ts';
import { type Columns, contentBytes, MAX_SHARED_PLANT_BYTES, type PageRequest, selectColumns } from './plant-pages.ts';
import { MAX_LIMIT } from './plant-parameters.ts';
import { createdOnly } from './store-batch.ts';

/** The statements that differ between one PostgreSQL and Citus (docs/decisions/0046). `lockTimeout`: in ms */
export type PlantStatements = {
  /** Stores plants with distinct ids. @returns the outcome for an id */
  insert: (database: Database, plants: NewPlant[], lockTimeout: number) => Promise<(id: bigint) => undefined | Error>;
  /** The row source of an UPDATE or DELETE that limits how long it waits for a lock; `keyword` precedes it. */
  waitForLocks: (keyword: Prisma.Sql, lockTimeout: number) => Prisma.Sql;
  /** Reads pages of all plants. @returns a row for each, in order */
  readPages: (database: Database, pages: PageRequest[]) => Promise<Columns[]>;
};

export const onPostgres: PlantStatements = {
  insert: (database, plants, lockTimeout) =>
    plants.length === 1
      ? insertRow(database, plants[0] as NewPlant, lockTimeout)
      : insertRows(database, plants, lockTimeout),

  waitForLocks: (keyword, lockTimeout) => Prisma.sql`${keyword} ${setLockTimeout(lockTimeout)}`,

  readPages: (database, pages) => {
    const afters = pages.map(({ after }) => after ?? 'NULL');
    const limits = pages.map(({ limit }) => limit);
    const [first, after] = [Prisma.sql`coalesce(wanted.after, ${MIN_INT64})`, Prisma.sql`wanted.after`];
    // The inner limit is for PostgreSQL's planner, which estimates an unknown limit as a tenth of the table.
    const found = Prisma.sql`${plantsFrom(first, after, MAX_LIMIT + 1)} LIMIT wanted.size + 1`;
    return database.$queryRaw<Columns[]>`
      SELECT ids, names, tags
      FROM unnest(${`{${afters}}`}::bigint[], ${`{${limits}}`}::int[]) WITH ORDINALITY AS wanted (after, size, place),
        LATERAL (${selectColumns(found)}) AS page
      ORDER BY place`;
  },
};

export const onCitus: PlantStatements = {
  // Not from arrays: Citus would collect the rows on the coordinator first (ten times slower), and count those that
  // ON CONFLICT skipped as inserted.
  insert: async (database, plants) => {
    const rows = plants.map(({ id, name, tag }) => Prisma.sql`(${id}, ${name}, ${tag ?? null})`);
    const created = await database.$queryRaw<{ id: bigint }[]>`
      INSERT INTO plants (id, name, tag) VALUES ${Prisma.join(rows)} ON CONFLICT (id) DO NOTHING RETURNING id`;
    return createdOnly(created.map(({ id }) => id));
  },

  // Workers wait as long as the role's `lock_timeout` says: what a statement sets does not reach them.
  waitForLocks: () => Prisma.empty,

  // Not LATERAL, which Citus refuses. Every shard finds at most as many plants as a page has.
  readPages: (database, pages) => {
    const selects = pages.map(({ after, limit }, place) => {
      const found = plantsFrom(after ?? MIN_INT64, Prisma.sql`${after ?? null}::bigint`, limit + 1);
      return Prisma.sql`SELECT ${place}::int AS place, page.* FROM (${selectColumns(found)}) AS page`;
    });
    return database.$queryRaw<Columns[]>`${Prisma.join(selects, ' UNION ALL ')} ORDER BY place`;
  },
};

/** Plants with ids from `first` on, except `after`; and whether each is `shown`, as it is short enough for a shared page. */
const plantsFrom = (first: Prisma.Sql | bigint, after: Prisma.Sql, limit: number) => Prisma.sql`
  SELECT *, ${contentBytes} <= ${MAX_SHARED_PLANT_BYTES} AS shown FROM (
    SELECT id, name, tag FROM plants WHERE id >= ${first} AND id IS DISTINCT FROM ${after} ORDER BY id LIMIT ${limit}
  ) AS ahead
  ORDER BY id`;

const insertRows = async (database: Database, plants: NewPlant[], lockTimeout: number) => {
  const { ids, names, tags } = toArrays(plants);
  // Arrays are sent as text, in PostgreSQL's notation, and ids are returned only if some were taken: Prisma would spend
  // more time on the elements than the rest of the request takes.
  const [row] = await database.$queryRaw<[{ created: bigint[] | null }]>`
    WITH stored AS (
      INSERT INTO plants (id, name, tag)
      SELECT given.* FROM ${setLockTimeout(lockTimeout)}, unnest(${ids}::bigint[], ${names}::text[], ${tags}::text[]) AS given
      ON CONFLICT (id) DO NOTHING
      RETURNING id
    )
    SELECT CASE WHEN count(*) < ${plants.length} THEN coalesce(array_agg(id), '{}') END AS created FROM stored`;
  return createdOnly(row.created);
};

/** Without arrays and a CTE, PostgreSQL takes 0.05 ms less. */
const insertRow = async (database: Database, { id, name, tag }: NewPlant, lockTimeout: number) => {
  const count = await database.$executeRaw`
    INSERT INTO plants (id, name, tag)
    SELECT ${id}::bigint, ${name}::text, ${tag ?? null}::text FROM ${setLockTimeout(lockTimeout)}
    ON CONFLICT (id) DO NOTHING`;
  return createdOnly(count === 1 ? null : []);
};
