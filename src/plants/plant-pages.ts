import type { Database } from '../database/database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { MAX_LIMIT, MIN_INT64, type PlantFilter } from './plant.ts';

/** At most `limit` plants with ids above `after`, in the order of ids. */
export type PageRequest = { limit: number; after?: bigint | undefined };

/** Plants in the order of their ids, column by column. */
export type PlantPage = {
  /** In decimal digits. */
  ids: string[];
  names: string[];
  tags: (string | null)[];
  hasNext: boolean;
  /** Whether the page has fewer plants than requested, because the next plant is too long. */
  isCut: boolean;
};

/**
 * The maximum size of the names and tags on a page, in bytes. Longer pages are cut, to save memory here and in
 * PostgreSQL.
 */
const MAX_PAGE_BYTES = 1_048_576;
/** The maximum size of a name and tag in a page that shares its statement, in bytes: 1000 of them fit on a page. */
const MAX_SHARED_PLANT_BYTES = 1024;

type PlantPagesOptions = { database: Database; isDistributed: () => Promise<boolean> };

export const createPlantPages = ({ database, isDistributed }: PlantPagesOptions) => ({
  /**
   * Reads several pages of all plants in one statement.
   * @returns a page for each request, in order; undefined if a plant is too long: use `search` for that page
   */
  list: async (pages: PageRequest[]): Promise<(PlantPage | undefined)[]> => {
    const rows = await database.$queryRaw<Columns[]>(
      (await isDistributed()) ? selectPagesOnCitus(pages) : selectPages(pages),
    );
    return pages.map(({ limit }, index) => {
      const page = toPlantPage(rows[index] as Columns, limit);
      return page.isCut ? undefined : page;
    });
  },

  /** Reads one page in a statement of its own. */
  search: async ({ limit, after, ...filter }: PageRequest & PlantFilter): Promise<PlantPage> => {
    const found = Prisma.sql`
      SELECT *, sum(${contentBytes}) OVER so_far <= ${MAX_PAGE_BYTES} OR row_number() OVER so_far = 1 AS shown
      FROM (
        SELECT id, name, tag FROM plants
        WHERE ${matching(filter)} AND ${after === undefined ? Prisma.sql`TRUE` : Prisma.sql`id > ${after}`}
        ORDER BY id LIMIT ${limit + 1}
      ) AS ahead
      WINDOW so_far AS (ORDER BY id ROWS UNBOUNDED PRECEDING)
      ORDER BY id`;
    const [row] = await database.$queryRaw<Columns[]>`${selectColumns(found)}`;
    return toPlantPage(row as Columns, limit);
  },
});

/** The pages in one statement: a row for each, in order. */
const selectPages = (pages: PageRequest[]): Prisma.Sql => {
  const afters = pages.map(({ after }) => after ?? 'NULL');
  const limits = pages.map(({ limit }) => limit);
  const [first, after] = [Prisma.sql`coalesce(wanted.after, ${MIN_INT64})`, Prisma.sql`wanted.after`];
  // The inner limit is for PostgreSQL's planner, which estimates an unknown limit as a tenth of the table.
  const found = Prisma.sql`${plantsFrom(first, after, MAX_LIMIT + 1)} LIMIT wanted.size + 1`;
  return Prisma.sql`
    SELECT ids, names, tags
    FROM unnest(${`{${afters}}`}::bigint[], ${`{${limits}}`}::int[]) WITH ORDINALITY AS wanted (after, size, place),
      LATERAL (${selectColumns(found)}) AS page
    ORDER BY place`;
};

/** Not LATERAL, which Citus refuses. Every shard finds at most as many plants as a page has. */
const selectPagesOnCitus = (pages: PageRequest[]): Prisma.Sql => {
  const selects = pages.map(({ after, limit }, place) => {
    const found = plantsFrom(after ?? MIN_INT64, Prisma.sql`${after ?? null}::bigint`, limit + 1);
    return Prisma.sql`SELECT ${place}::int AS place, page.* FROM (${selectColumns(found)}) AS page`;
  });
  return Prisma.sql`${Prisma.join(selects, ' UNION ALL ')} ORDER BY place`;
};

/** Plants with ids from `first` on, except `after`; and whether each is `shown`, as it is short enough for a shared page. */
const plantsFrom = (first: Prisma.Sql | bigint, after: Prisma.Sql, limit: number) => Prisma.sql`
  SELECT *, ${contentBytes} <= ${MAX_SHARED_PLANT_BYTES} AS shown FROM (
    SELECT id, name, tag FROM plants WHERE id >= ${first} AND id IS DISTINCT FROM ${after} ORDER BY id LIMIT ${limit}
  ) AS ahead
  ORDER BY id`;

/** All plants that match, in the order of their ids. */
export const selectPlants = (filter: PlantFilter): Prisma.Sql =>
  Prisma.sql`SELECT id, name, tag FROM plants WHERE ${matching(filter)} ORDER BY id`;

export const matching = ({ id: ids, tag, q }: PlantFilter): Prisma.Sql => {
  const conditions = [
    Prisma.sql`TRUE`,
    ...(ids === undefined ? [] : [Prisma.sql`id = ANY(${`{${ids}}`}::bigint[])`]),
    ...(tag === undefined ? [] : [Prisma.sql`hashtextextended(tag, 0) = hashtextextended(${tag}, 0) AND tag = ${tag}`]),
    ...(q === undefined ? [] : [Prisma.sql`name ILIKE ${likePattern(q)}`]),
  ];
  return Prisma.join(conditions, ' AND ');
};

/** A page as PostgreSQL returns it. Null if there are no plants. */
type Columns = {
  /** In decimal digits, separated by commas. */
  ids: string | null;
  /** A JSON array of strings, with null for a plant that is too long for the page. */
  names: string | null;
  /** A JSON array of strings and nulls. */
  tags: string | null;
};

/** Makes a page of at most `limit` plants. The input has one more if others follow. */
const toPlantPage = (found: Columns, limit: number): PlantPage => {
  const ids = found.ids?.split(',') ?? [];
  const names: (string | null)[] = JSON.parse(found.names ?? '[]');
  const tags: (string | null)[] = JSON.parse(found.tags ?? '[]');
  const wanted = Math.min(limit, ids.length);
  const tooLong = names.indexOf(null);
  const count = tooLong === -1 ? wanted : Math.min(wanted, tooLong);
  return {
    ids: ids.slice(0, count),
    names: names.slice(0, count) as string[],
    tags: tags.slice(0, count),
    hasNext: count < ids.length,
    isCut: count < wanted,
  };
};

export const contentBytes = Prisma.sql`(octet_length(name) + coalesce(octet_length(tag), 0))`;

/** Plants in the order in which they are found, column by column: Prisma takes twice as long row by row. */
const selectColumns = (found: Prisma.Sql) => Prisma.sql`
  SELECT
    string_agg(id::text, ',') AS ids,
    json_agg(CASE WHEN shown THEN name END)::text AS names,
    json_agg(CASE WHEN shown THEN tag END)::text AS tags
  FROM (${found}) AS found`;

/** A LIKE pattern for texts that contain this one. */
const likePattern = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;
