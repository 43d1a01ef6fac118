import { setTimeout } from 'node:timers/promises';
import { classifyDatabaseError, isCitusCopyFailure, isRowRefusal } from '../database/database-error.ts';
import { errors as kinds } from '../errors.ts';
import { idTaken, plantRejected } from '../plants/plant.ts';
import { type ImportCounts, type ImportOptions, isTooMany, NO_COUNTS, type RowError } from './import.ts';
import type { ImportSession } from './import-session.ts';
import {
  type ConflictRow,
  conflictsStatement,
  createFirstRows,
  FIRST_ROWS,
  INDEX_FIRST_ROWS,
  INSERT_FREE,
  insertStagedRows,
  type RowSource,
  SELECT_FIRST_ROW,
  STAGED_ROWS,
  type StoreRow,
  storeStatement,
} from './import-statements.ts';

type Rows = {
  source: RowSource;
  count: number;
  /** The line of the last one. */
  lastLine: number;
  /** How many other rows of the import are wrong. */
  failed: number;
};

/** What was stored, unless too many rows failed. `errors`: of the failed rows, the first in the order of lines. */
export type StoreOutcome = ImportCounts & { errors: RowError[] };

/** How long to wait before a transaction is tried again, in ms. */
const RETRY_DELAY = 100;

/**
 * Stores rows in one transaction, or only checks them. It is rolled back if too many rows fail.
 * @throws {OutcomeUnknownError} the connection was lost during the commit; errors of PostgreSQL, if nothing is stored
 */
export const storeRows = async (session: ImportSession, rows: Rows, options: ImportOptions): Promise<StoreOutcome> => {
  const startedAt = performance.now();
  for (;;) {
    try {
      const outcome = await tryToStore(session, rows, options);
      if (options.dryRun || isTooMany(rows.failed + outcome.failed, options)) await session.query('ROLLBACK');
      else await session.commit();
      return outcome;
    } catch (error) {
      const failure = classifyDatabaseError(error);
      // On Citus, transactions that lock the same plants in different nodes wait for each other, until one is aborted.
      const mayRepeat = failure === 'conflict' || failure === 'locked';
      if (!mayRepeat || performance.now() - startedAt >= session.lockTimeout) throw error;
      await session.query('ROLLBACK');
      await setTimeout(RETRY_DELAY * Math.random());
    }
  }
};

/** Its transaction is still open. @returns the counts, whether or not too many rows failed */
const tryToStore = async (session: ImportSession, rows: Rows, options: ImportOptions): Promise<StoreOutcome> => {
  const { source, count } = rows;
  const { onConflict, dryRun } = options;
  const isRefused = (failed: number) => isTooMany(rows.failed + failed, options);
  for (const statement of beginStatements(source, session.lockTimeout)) await session.query(statement);
  const insertSmall = async () => (await session.query(INSERT_FREE, source.values.slice(1))).rows.length === count;
  const isSmall = source !== STAGED_ROWS && !dryRun && !isRefused(0);
  if (isSmall && (await storeAll(session, insertSmall))) return { ...NO_COUNTS, created: count, errors: [] };
  const found = await findConflicts(session, rows, onConflict);
  const expected = countRows(onConflict, { created: count - found.repeated - found.taken, ...found, refused: 0 });
  if (dryRun || isRefused(expected.failed))
    return { ...expected, errors: [...found.repeatedErrors, ...found.takenErrors] };
  // A trigger may leave some out.
  const insertStaged = async () => (await session.query(insertStagedRows(found))).rowCount === expected.created;
  const isFree = source === STAGED_ROWS && found.taken === 0;
  if (isFree && (await storeAll(session, insertStaged))) return { ...expected, errors: found.repeatedErrors };
  const { created, refused, errors } = await storeParts(session, rows, options);
  // Then `storeParts` has left out the rest of the rows. Otherwise it knows which ids were taken or became free since the look.
  const hasStopped = isTooMany(refused, options);
  const taken = hasStopped ? found.taken : count - created - found.repeated - refused;
  const counts = countRows(onConflict, { created, repeated: found.repeated, taken, refused });
  const all = [...(hasStopped ? found.takenErrors : []), ...found.repeatedErrors, ...errors];
  return { ...counts, errors: [...new Map(all.map((error) => [error.line, error])).values()] };
};

type RowCounts = { created: number; repeated: number; taken: number; refused: number };

const countRows = (
  onConflict: ImportOptions['onConflict'],
  { created, repeated, taken, refused }: RowCounts,
): ImportCounts => {
  switch (onConflict) {
    case 'error':
      return { created, replaced: 0, skipped: 0, failed: repeated + taken + refused };
    case 'skip':
      return { created, replaced: 0, skipped: repeated + taken, failed: refused };
    case 'replace':
      return { created, replaced: taken, skipped: 0, failed: repeated + refused };
  }
};

const SAVEPOINT = 'SAVEPOINT part';
/** Savepoints within each other would make each one slower. */
const MOVE_SAVEPOINT = `RELEASE part; ${SAVEPOINT}`;

const beginStatements = (source: RowSource, lockTimeout: number): string[] => {
  // A deferred constraint would fail the commit, and so all rows, instead of the row that it rejects.
  const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED; SET CONSTRAINTS ALL IMMEDIATE';
  if (source !== STAGED_ROWS) return [`${begin}; ${SAVEPOINT}`];
  // On Citus, the limits reach its workers, where those of the role apply otherwise. It needs separate messages for them.
  const limits = [
    'citus.propagate_set_commands = local',
    'statement_timeout = 0',
    'idle_in_transaction_session_timeout = 0',
    `lock_timeout = ${lockTimeout}`,
  ];
  return [begin, ...limits.map((setting) => `SET LOCAL ${setting}`), SAVEPOINT];
};

/** @param insert resolves to whether all rows were stored. @returns false: none is */
const storeAll = async (session: ImportSession, insert: () => Promise<boolean>): Promise<boolean> => {
  try {
    if (await insert()) return true;
  } catch (error) {
    // Citus copies the rows of an INSERT without ON CONFLICT. One with it fails again, with the code of the reason.
    if (!isRowRefusal(error) && !isCitusCopyFailure(error)) throw error;
  }
  await session.query(`ROLLBACK TO ${SAVEPOINT}`);
  return false;
};

/** The errors are those of the first rows that fail because of a conflict. */
const findConflicts = async (session: ImportSession, { source }: Rows, onConflict: ImportOptions['onConflict']) => {
  const [repeatedFail, takenFail] = [onConflict !== 'skip', onConflict === 'error'];
  const parameters = [repeatedFail, takenFail, ...source.values];
  const { rows: conflicts } = await session.query<ConflictRow>(conflictsStatement(source.from), parameters);
  const repeated = conflicts.filter((row) => row.is_repeated);
  const taken = conflicts.filter((row) => !row.is_repeated);
  return {
    repeated: Number(conflicts[0]?.repeated ?? 0),
    taken: Number(conflicts[0]?.taken ?? 0),
    repeatedErrors: repeatedFail ? repeated.map((row) => toError(Number(row.line), row.id, true)) : [],
    takenErrors: takenFail ? taken.map((row) => toError(Number(row.line), row.id)) : [],
  };
};

const toError = (line: number, id: string, isRepeated = false): RowError => {
  const message = isRepeated ? `The id ${id} occurs earlier in this import.` : idTaken(BigInt(id)).message;
  return { line, id: BigInt(id), error: kinds.idTaken.code, message };
};

/** Stores all rows at once. If PostgreSQL rejects one, stores both halves, so that it fails alone. Stops if it rejects too many. */
const storeParts = async (session: ImportSession, { source, lastLine }: Rows, options: ImportOptions) => {
  const errors: RowError[] = [];
  let created = 0;
  let refused = 0;

  const storePart = async (part: RowSource, first: number, last: number): Promise<void> => {
    try {
      const parameters = [first, last, ...part.values];
      const [row] = (await session.query<StoreRow>(storeStatement(part.from, options.onConflict), parameters)).rows;
      created += Number(row?.created);
      for (const [line, id] of row?.taken ?? []) errors.push(toError(line, id));
      return;
    } catch (error) {
      if (!isRowRefusal(error)) throw error;
      await session.query(`ROLLBACK TO ${SAVEPOINT}`);
    }
    if (part === source) {
      await session.query(createFirstRows(source.from), [first, last, ...source.values]);
      await session.query(INDEX_FIRST_ROWS);
      await session.query(MOVE_SAVEPOINT);
    }
    if (first === last) return refuse(first);
    const middle = Math.floor((first + last) / 2);
    await storePart(FIRST_ROWS, first, middle);
    await session.query(MOVE_SAVEPOINT);
    if (!isTooMany(refused, options)) await storePart(FIRST_ROWS, middle + 1, last);
  };
  const refuse = async (line: number) => {
    const [row] = (await session.query<{ id: string }>(SELECT_FIRST_ROW, [line])).rows;
    // No row of this line was to be stored. A trigger can reject even a statement that stores nothing.
    if (row === undefined) return;
    const rejected = plantRejected();
    errors.push({ line, id: BigInt(row.id), error: rejected.code, message: rejected.message });
    refused += 1;
  };
  await storePart(source, 1, lastLine);
  return { created, refused, errors };
};
