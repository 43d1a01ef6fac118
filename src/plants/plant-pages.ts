import type { Queries } from '../database/database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { MIN_INT64 } from './plant.ts';
import { MAX_LIMIT } from './plant-parameters.ts';

/** At most `limit` plants with ids above `after`, in the order of ids. */
export type PageRequest = { limit: number; after?: bigint | undefined };

/** Only plants with this tag, and with this text in their name. */
export type PlantFilter = { tag?: string | undefined; nameContains?: string | undefined };

/** Plants in the order of their ids, column by column. */
export type PlantPage = {
  /** In decimal digits. */
  ids: string[];
  names: string[];
  tags: (string | null)[];
  /** Whether more plants follow. */
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

/** Where to cut a page, and how PostgreSQL sends it. */
export type PageOptions = {
  /** The maximum size of the names and tags, in bytes. A single plant may be longer. */
  maxBytes?: number;
  /**
   * Cuts the page before the first plant with more bytes instead; it may be empty then. PostgreSQL takes a tenth less time,
   * because it does not add up the bytes.
   */
  maxPlantBytes?: number;
  /** The number of rows in which PostgreSQL sends the page. It sends the first while it formats the others. */
  pieces?: number;
};

/** Reads pages of plants, each in a statement of its own or, where `database` is one, all in one transaction. */
export const createPlantPages = ({ database }: { database: Queries }) => ({
  /**
   * Reads several pages of all plants in one statement.
   * @returns a page for each request, in order; undefined if a plant is too long: use `search` for that page
   */
  list: async (pages: PageRequest[]): Promise<(PlantPage | undefined)[]> => {
    const afters = pages.map(({ after }) => after ?? 'NULL');
    const limits = pages.map(({ limit }) => limit);
    // The inner limit is for PostgreSQL's planner, which estimates an unknown limit as a tenth of the table.
    const found = Prisma.sql`
      SELECT *, ${contentBytes} <= ${MAX_SHARED_PLANT_BYTES} AS shown FROM (
        SELECT id, name, tag FROM plants
        WHERE id >= coalesce(wanted.after, ${MIN_INT64}) AND id IS DISTINCT FROM wanted.after
        ORDER BY id LIMIT ${MAX_LIMIT + 1}
      ) AS ahead
      ORDER BY id LIMIT wanted.size + 1`;
    const rows = await database.$queryRaw<Columns[]>`
      SELECT ids, names, tags
      FROM unnest(${`{${afters}}`}::bigint[], ${`{${limits}}`}::int[]) WITH ORDINALITY AS wanted (after, size, place),
        LATERAL (${selectColumns(found)}) AS page
      ORDER BY place`;
    return pages.map(({ limit }, index) => {
      const page = toPlantPage([rows[index] as Columns], limit);
      return page.isCut ? undefined : page;
    });
  },

  /** Reads one page in a statement of its own. */
  search: async (
    { limit, after, tag, nameContains }: PageRequest & PlantFilter,
    { maxBytes = MAX_PAGE_BYTES, maxPlantBytes, pieces = 1 }: PageOptions = {},
  ): Promise<PlantPage> => {
    const conditions = [
      Prisma.sql`TRUE`,
      ...(after === undefined ? [] : [Prisma.sql`id > ${after}`]),
      ...(tag === undefined
        ? []
        : [Prisma.sql`hashtextextended(tag, 0) = hashtextextended(${tag}, 0) AND tag = ${tag}`]),
      ...(nameContains === undefined ? [] : [Prisma.sql`name ILIKE ${likePattern(nameContains)}`]),
    ];
    const shown =
      maxPlantBytes === undefined
        ? Prisma.sql`sum(${contentBytes}) OVER so_far <= ${maxBytes} OR row_number() OVER so_far = 1`
        : Prisma.sql`${contentBytes} <= ${maxPlantBytes}`;
    const [piece, byPiece] =
      pieces === 1
        ? [Prisma.sql`0`, Prisma.empty]
        : [
            Prisma.sql`(row_number() OVER so_far - 1) / ${Math.ceil((limit + 1) / pieces)}::int`,
            Prisma.sql`GROUP BY piece ORDER BY piece`,
          ];
    const found = Prisma.sql`
      SELECT *, ${shown} AS shown, ${piece} AS piece
      FROM (SELECT id, name, tag FROM plants WHERE ${Prisma.join(conditions, ' AND ')} ORDER BY id LIMIT ${limit + 1}) AS ahead
      WINDOW so_far AS (ORDER BY id ROWS UNBOUNDED PRECEDING)
      ORDER BY piece, id`;
    const rows = await database.$queryRaw<Columns[]>`${selectColumns(found)} ${byPiece}`;
    return toPlantPage(rows, limit);
  },
});

/** A row that PostgreSQL returns: a page, or a piece of one. Null if there are no plants. */
type Columns = {
  /** In decimal digits, separated by commas. */
  ids: string | null;
  /** A JSON array of strings, with null for a plant that is too long for the page. */
  names: string | null;
  /** A JSON array of strings and nulls. */
  tags: string | null;
};

/** A page of at most `limit` plants from pieces that have one more if others follow. */
const toPlantPage = (pieces: Columns[], limit: number): PlantPage => {
  const ids = pieces.flatMap((piece) => piece.ids?.split(',') ?? []);
  const names = pieces.flatMap((piece): (string | null)[] => JSON.parse(piece.names ?? '[]'));
  const tags = pieces.flatMap((piece): (string | null)[] => JSON.parse(piece.tags ?? '[]'));
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

/** In bytes. */
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
