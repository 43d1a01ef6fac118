import type { Database } from '../database/database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { MIN_INT64, type NewPlant, type PlantChange, type StoredPlant } from './plant.ts';
import { type PlantColumns, type PlantPage, toPlantPage } from './plant-page.ts';
import { MAX_LIMIT } from './plant-parameters.ts';

/** Which plants: those after `after` in the order of ids, `limit` at most. */
export type PageRequest = { limit: number; after?: bigint | undefined };

/** With this tag, and this text in their name. */
export type PlantFilter = { tag?: string | undefined; nameContains?: string | undefined };

/** Of names and tags on a page: one of very long names is cut short, as neither PostgreSQL nor Node.js can hold all of it. */
const MAX_PAGE_BYTES = 1_048_576;
/** Of the name and tag of a plant on a page that shares its statement: a thousand of these are less than a page has at most. */
const MAX_SHARED_PLANT_BYTES = 1024;
/** Of the name and tag of a plant that is read with others by their ids: 64 of these are 1 MiB. */
const MAX_SHARED_READ_BYTES = 16_384;

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

  /** @returns those that are there, by their ids; undefined where one is too long to be read with others: use `findLong` */
  findByIds: async (ids: bigint[]): Promise<Map<bigint, StoredPlant | undefined>> => {
    // A name is null here where the plant is too long.
    const rows = await database.$queryRaw<(Omit<Row, 'name'> & { name: string | null })[]>`
      SELECT id, CASE WHEN shown THEN name END AS name, CASE WHEN shown THEN tag END AS tag
      FROM (
        SELECT *, ${contentBytes} <= ${MAX_SHARED_READ_BYTES} AS shown
        FROM plants WHERE id = ANY(${`{${ids}}`}::bigint[])
      ) AS found`;
    return new Map(
      takeOut(rows).map(({ id, name, tag }) => [id, name === null ? undefined : toStoredPlant({ id, name, tag })]),
    );
  },

  /** @returns the plant, however long; undefined where there is none */
  findLong: async (id: bigint): Promise<StoredPlant | undefined> => {
    const [row] = takeOut(await database.$queryRaw<Row[]>`SELECT id, name, tag FROM plants WHERE id = ${id}`);
    return row && toStoredPlant(row);
  },

  /**
   * Pages of all plants, by one statement.
   * @returns a page for each, in their order; undefined where a plant is too long for that: ask `search` for the page
   */
  list: async (pages: PageRequest[]): Promise<(PlantPage | undefined)[]> => {
    const afters = pages.map(({ after }) => after ?? 'NULL');
    const limits = pages.map(({ limit }) => limit);
    // The inner limit is for PostgreSQL's planner, which takes one that it does not know for a tenth of the table.
    const found = Prisma.sql`
      SELECT *, ${contentBytes} <= ${MAX_SHARED_PLANT_BYTES} AS shown FROM (
        SELECT id, name, tag FROM plants
        WHERE id >= coalesce(wanted.after, ${MIN_INT64}) AND id IS DISTINCT FROM wanted.after
        ORDER BY id LIMIT ${MAX_LIMIT + 1}
      ) AS ahead
      ORDER BY id LIMIT wanted.size + 1`;
    const rows = await database.$queryRaw<PlantColumns[]>`
      SELECT ids, names, tags
      FROM unnest(${`{${afters}}`}::bigint[], ${`{${limits}}`}::int[]) WITH ORDINALITY AS wanted (after, size, place),
        LATERAL (${selectColumns(found)}) AS page
      ORDER BY place`;
    const columns = takeOut(rows);
    return pages.map(({ limit }, index) => {
      const page = toPlantPage(columns[index] as PlantColumns, limit);
      return page.isCut ? undefined : page;
    });
  },

  /** A page by a statement of its own; PostgreSQL plans each that looks into names anew. */
  search: async ({ limit, after, tag, nameContains }: PageRequest & PlantFilter): Promise<PlantPage> => {
    const conditions = [
      Prisma.sql`TRUE`,
      ...(after === undefined ? [] : [Prisma.sql`id > ${after}`]),
      ...(tag === undefined
        ? []
        : [Prisma.sql`hashtextextended(tag, 0) = hashtextextended(${tag}, 0) AND tag = ${tag}`]),
      ...(nameContains === undefined ? [] : [Prisma.sql`name ILIKE ${likePattern(nameContains)}`]),
    ];
    const found = Prisma.sql`
      SELECT *, sum(${contentBytes}) OVER so_far <= ${MAX_PAGE_BYTES} OR row_number() OVER so_far = 1 AS shown
      FROM (SELECT id, name, tag FROM plants WHERE ${Prisma.join(conditions, ' AND ')} ORDER BY id LIMIT ${limit + 1}) AS ahead
      WINDOW so_far AS (ORDER BY id ROWS UNBOUNDED PRECEDING)
      ORDER BY id`;
    const [columns] = takeOut(await database.$queryRaw<PlantColumns[]>`${selectColumns(found)}`);
    return toPlantPage(columns as PlantColumns, limit);
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

/** Prisma's promise stays in memory for long, and with it the array that it was fulfilled with (record 0024). */
const takeOut = <Element>(rows: Element[]): Element[] => rows.splice(0);

const contentBytes = Prisma.sql`(octet_length(name) + coalesce(octet_length(tag), 0))`;

/** Plants in the order in which they are found, column by column: row by row they cost Prisma twice as much. */
const selectColumns = (found: Prisma.Sql) => Prisma.sql`
  SELECT
    string_agg(id::text, ',') AS ids,
    json_agg(CASE WHEN shown THEN name END)::text AS names,
    json_agg(CASE WHEN shown THEN tag END)::text AS tags
  FROM (${found}) AS found`;

const toStoredPlant = ({ id, name, tag }: Row): StoredPlant => ({ id, name, tag: tag ?? undefined });

const contentOf = ({ name, tag }: StoredPlant) => ({ name, tag: tag ?? null });

/** PostgreSQL's notation of an array (its manual, §8.15.6). */
const textArray = (texts: (string | undefined)[]): string =>
  `{${texts.map((text) => (text === undefined ? 'NULL' : `"${text.replace(/[\\"]/g, '\\$&')}"`))}}`;

/** A pattern of LIKE that any text with this one in it matches. */
const likePattern = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;
