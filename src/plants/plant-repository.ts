import type { Database } from '../database/database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { MIN_INT64, type NewPlant, type PlantChange, type StoredPlant } from './plant.ts';
import { MAX_LIMIT } from './plant-parameters.ts';

/** Which plants: those after `after` in the order of ids, `limit` at most. */
export type PageRequest = { limit: number; after?: bigint | undefined };

/** With this tag, and this text in their name. */
export type PlantFilter = { tag?: string | undefined; nameContains?: string | undefined };

/** Plants in the order of their ids. */
export type PlantPage = {
  /** A JSON array of StoredPlants. */
  json: string;
  /** Null where there are none. */
  lastId: bigint | null;
  /** Whether there are more behind them. */
  hasNext: boolean;
};

/** Of names and tags on a page: one of very long names is cut short, as neither PostgreSQL nor Node.js can hold all of it. */
const MAX_PAGE_BYTES = 4_194_304;

type Row = { id: bigint; name: string; tag: string | null };

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

  /** @returns those that are there, by their ids */
  findByIds: async (ids: bigint[]): Promise<Map<bigint, StoredPlant>> => {
    const rows = await database.$queryRaw<Row[]>`
      SELECT id, name, tag FROM plants WHERE id = ANY(${`{${ids}}`}::bigint[])`;
    return new Map(rows.map((row) => [row.id, toStoredPlant(row)]));
  },

  /** @returns a page for each, in their order, all by one statement */
  list: (pages: PageRequest[]): Promise<PlantPage[]> => {
    const afters = pages.map(({ after }) => after ?? 'NULL');
    const limits = pages.map(({ limit }) => limit);
    // The inner limit is for PostgreSQL's planner, which takes one that it does not know for a tenth of the table.
    const found = Prisma.sql`
      SELECT * FROM (
        SELECT id, name, tag FROM plants
        WHERE id >= coalesce(wanted.after, ${MIN_INT64}) AND id IS DISTINCT FROM wanted.after
        ORDER BY id LIMIT ${MAX_LIMIT + 1}
      ) AS ahead
      ORDER BY id LIMIT wanted.size + 1`;
    return database.$queryRaw<PlantPage[]>`
      SELECT json, "lastId", "hasNext"
      FROM unnest(${`{${afters}}`}::bigint[], ${`{${limits}}`}::int[]) WITH ORDINALITY AS wanted (after, size, place),
        LATERAL (${selectPage(found, Prisma.sql`wanted.size`)}) AS page
      ORDER BY place`;
  },

  /** A page of its own statement, as PostgreSQL plans each search anew. */
  search: async ({ limit, after, tag, nameContains }: PageRequest & PlantFilter): Promise<PlantPage> => {
    const conditions = [
      ...(after === undefined ? [] : [Prisma.sql`id > ${after}`]),
      ...(tag === undefined ? [] : [Prisma.sql`md5(tag) = md5(${tag}) AND tag = ${tag}`]),
      ...(nameContains === undefined ? [] : [Prisma.sql`name ILIKE ${likePattern(nameContains)}`]),
    ];
    const found = Prisma.sql`
      SELECT id, name, tag FROM plants WHERE ${Prisma.join(conditions, ' AND ')} ORDER BY id LIMIT ${limit + 1}`;
    const [page] = await database.$queryRaw<[PlantPage]>`${selectPage(found, limit)}`;
    return page;
  },

  /**
   * Changes a plant, if it is stored and (where told) is as expected.
   * @returns the plant as it is now; undefined where there was none to change
   */
  update: async (id: bigint, change: PlantChange, expected?: StoredPlant): Promise<StoredPlant | undefined> => {
    const [row] = await database.plant.updateManyAndReturn({
      where: { id, ...(expected && contentOf(expected)) },
      data: change,
    });
    return row && toStoredPlant(row);
  },

  /** @returns whether there was one to delete */
  delete: async (id: bigint, expected?: StoredPlant): Promise<boolean> => {
    const { count } = await database.plant.deleteMany({ where: { id, ...(expected && contentOf(expected)) } });
    return count > 0;
  },
});

export type PlantRepository = ReturnType<typeof createPlantRepository>;

/**
 * A page of the plants that were found, of which there is one more where others follow. PostgreSQL writes the JSON, as
 * Prisma takes longer for a hundred rows than PostgreSQL does for all of it. `concat` leaves out a tag that is NULL.
 */
const selectPage = (found: Prisma.Sql, limit: Prisma.Sql | number) => Prisma.sql`
  WITH found AS (${found}),
    measured AS (
      SELECT *, sum(octet_length(name) + coalesce(octet_length(tag), 0)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS bytes
      FROM found
    ),
    page AS (
      SELECT id, name, tag FROM measured
      WHERE bytes <= ${MAX_PAGE_BYTES} OR id = (SELECT min(id) FROM found)
      ORDER BY id LIMIT ${limit}
    )
  SELECT
    '[' || coalesce(string_agg(concat('{"id":', id, ',"name":', to_json(name), ',"tag":' || to_json(tag)::text, '}'), ',' ORDER BY id), '') || ']' AS json,
    max(id) AS "lastId",
    count(*) < (SELECT count(*) FROM found) AS "hasNext"
  FROM page`;

const toStoredPlant = ({ id, name, tag }: Row): StoredPlant => ({ id, name, tag: tag ?? undefined });

const contentOf = ({ name, tag }: StoredPlant) => ({ name, tag: tag ?? null });

/** PostgreSQL's notation of an array (its manual, §8.15.6). */
const textArray = (texts: (string | undefined)[]): string =>
  `{${texts.map((text) => (text === undefined ? 'NULL' : `"${text.replace(/[\\"]/g, '\\$&')}"`))}}`;

/** A pattern of LIKE that any text with this one in it matches. */
const likePattern = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;
