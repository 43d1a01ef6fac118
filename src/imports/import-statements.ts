import { toArrays } from '../plants/insert-plants.ts';
import { type ImportOptions, MAX_ERRORS, type PlantRow } from './import.ts';

/** Rows of an import as PostgreSQL sees them: a table with the columns line, id, name and tag. */
export type RowSource = {
  /** An item of a FROM clause. Its parameters come after the two of the statement. */
  from: string;
  values: unknown[];
};

/** Rows that are sent with each statement. */
export const rowsAsValues = (rows: readonly PlantRow[]): RowSource => {
  const { ids, names, tags } = toArrays(rows.map(({ plant }) => plant));
  return {
    from: 'unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[]) AS rows (line, id, name, tag)',
    values: [`{${rows.map(({ line }) => line)}}`, ids, names, tags],
  };
};

/** Stores the rows of `rowsAsValues` whose ids are free, and returns a row for each. $1 to $3: their ids, names and tags. */
export const INSERT_FREE = {
  name: 'insert_free',
  text: `INSERT INTO plants (id, name, tag)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) AS rows (id, name, tag) ORDER BY id
    ON CONFLICT (id) DO NOTHING RETURNING 1`,
};

/** The temporary table of a large import. */
export const STAGED_ROWS: RowSource = { from: 'pg_temp.import_rows AS rows', values: [] };
export const CREATE_STAGED_ROWS = 'CREATE TEMPORARY TABLE import_rows (line bigint, id bigint, name text, tag text)';
const FIRST_STAGED_ROWS = '(SELECT DISTINCT ON (id) * FROM pg_temp.import_rows ORDER BY id, line) AS rows';
/**
 * Stores the first staged row of each id, or fails if one is taken. ON CONFLICT would take PostgreSQL nearly twice as long, and
 * DISTINCT ON, where no id is repeated, a tenth longer.
 */
export const insertStagedRows = ({ repeated }: { repeated: number }): string => `
  INSERT INTO plants (id, name, tag)
  SELECT id, name, tag FROM ${repeated > 0 ? FIRST_STAGED_ROWS : STAGED_ROWS.from} ORDER BY id`;
export const COPY_STAGED_ROWS = 'COPY pg_temp.import_rows FROM STDIN';

/**
 * Selects the rows that meet a conflict: those whose id occurs in an earlier row, and those whose id is taken. `repeated` and
 * `taken` count all of them. $1, $2: which of the two to list first, in the order of lines. Only reads. (Inner joins, because Citus
 * would fetch the whole table for others.)
 */
export const conflictsStatement = (from: string): string => `
  WITH conflicts AS (
    SELECT line, id, TRUE AS is_repeated
    FROM (SELECT line, id, row_number() OVER (PARTITION BY id ORDER BY line) AS place FROM ${from}) AS placed WHERE place > 1
    UNION ALL
    SELECT min(line), id, FALSE FROM ${from} JOIN plants USING (id) GROUP BY id
  )
  SELECT line, id, is_repeated, count(*) FILTER (WHERE is_repeated) OVER () AS repeated,
    count(*) FILTER (WHERE NOT is_repeated) OVER () AS taken
  FROM conflicts ORDER BY CASE WHEN is_repeated THEN $1::bool ELSE $2::bool END DESC, line
  LIMIT ${MAX_ERRORS + 1}`;

export type ConflictRow = { line: string; id: string; is_repeated: boolean; repeated: string; taken: string };

/** A condition that is always true: after every 500 rows it sleeps for 1 ms, so that others get the processor. */
const PAUSING = '(place % 500 <> 0 OR pg_sleep(0.001) IS NOT NULL)';

/**
 * Stores the first row of each id, of the lines $1 to $2, in the order of ids, so that concurrent transactions with the same ids do
 * not deadlock. With `error` it also selects the first that it did not store. `xmax` is 0 if a row was inserted. (UNION ALL instead of
 * outer joins: PostgreSQL, which knows nothing of a temporary table, would compare each row with each, and Citus would fetch the
 * whole table.)
 */
export const storeStatement = (from: string, onConflict: ImportOptions['onConflict']): string => `
  WITH stored AS (
    INSERT INTO plants (id, name, tag) SELECT id, name, tag
    FROM (
      SELECT id, name, tag, row_number() OVER (ORDER BY id) AS place FROM (
        SELECT DISTINCT ON (id) line, id, name, tag, is_unchanged FROM (
          SELECT line, id, name, tag, FALSE AS is_unchanged FROM ${from} ${onConflict === 'replace' ? unchanged(from) : ''}
        ) AS candidates ORDER BY id, line, is_unchanged DESC
      ) AS firsts WHERE line BETWEEN $1::bigint AND $2::bigint AND NOT is_unchanged
    ) AS placed
    WHERE ${PAUSING} ORDER BY id ${ON_CONFLICT[onConflict]} RETURNING id, xmax = 0 AS is_new
  )
  SELECT (SELECT count(*) FROM stored WHERE is_new) AS created, ${onConflict === 'error' ? takenIds(from) : 'NULL'} AS taken`;

const takenIds = (from: string): string => `(
    SELECT json_agg(json_build_array(line, id::text)) FROM (
      SELECT min(line) AS line, id FROM (SELECT line, id FROM ${from} UNION ALL SELECT NULL, id FROM stored) AS firsts
      GROUP BY id HAVING min(line) BETWEEN $1::bigint AND $2::bigint AND count(*) = count(line)
      ORDER BY line LIMIT ${MAX_ERRORS + 1}
    ) AS taken
  )`;

/** Plants that would not change are left out before, because ON CONFLICT locks and logs them. */
const unchanged = (from: string): string => `
        UNION ALL
        SELECT line, id, NULL, NULL, TRUE FROM ${from} JOIN plants USING (id)
        WHERE (rows.name, rows.tag) IS NOT DISTINCT FROM (plants.name, plants.tag)`;

const ON_CONFLICT: Record<ImportOptions['onConflict'], string> = {
  error: 'ON CONFLICT (id) DO NOTHING',
  skip: 'ON CONFLICT (id) DO NOTHING',
  replace: 'ON CONFLICT (id) DO UPDATE SET name = excluded.name, tag = excluded.tag',
};

export type StoreRow = { created: string; taken: [line: number, id: string][] | null };

/**
 * Keeps the first row of each id, of the lines $1 to $2, until the transaction ends, so that some of them are found without reading
 * all the others.
 */
export const createFirstRows = (from: string): string => `
  CREATE TEMPORARY TABLE first_rows ON COMMIT DROP AS SELECT * FROM (
    SELECT DISTINCT ON (id) line, id, name, tag FROM ${from} ORDER BY id, line
  ) AS firsts WHERE line BETWEEN $1::bigint AND $2::bigint`;
export const INDEX_FIRST_ROWS = 'CREATE UNIQUE INDEX ON pg_temp.first_rows (line)';
export const FIRST_ROWS: RowSource = {
  from: '(SELECT * FROM pg_temp.first_rows WHERE line BETWEEN $1::bigint AND $2::bigint) AS rows',
  values: [],
};
export const SELECT_FIRST_ROW = 'SELECT id FROM pg_temp.first_rows WHERE line = $1::bigint';
