import { setTimeout } from 'node:timers/promises';
import { classifyDatabaseError, isRowRefusal } from '../database/database-error.ts';
import { errors as kinds } from '../errors.ts';
import { idTaken } from '../plants/plant.ts';
import { type ImportCounts, type ImportOptions, MAX_ERRORS, NO_COUNTS, type RowError } from './import.ts';
import type { ImportSession } from './import-session.ts';
import {
  type ConflictRow,
  conflictsStatement,
  INSERT_FREE,
  INSERT_STAGED_ROWS,
  idStatement,
  type RowSource,
  STAGED_ROWS,
  type StoreRow,
  storeStatement,
  type TakenIds,
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

type StoreOptions = {
  options: ImportOptions;
  /** Of a statement, in ms. A transaction that conflicts with others is tried again within this time. */
  lockTimeout: number;
};

/** How long to wait before a transaction is tried again, in ms. */
const RETRY_DELAY = 100;

/**
 * Stores rows in one transaction, or only checks them. It is rolled back if too many rows fail.
 * @throws {OutcomeUnknownError} the connection was lost during the commit; errors of PostgreSQL, if nothing is stored
 */
export const storeRows = async (
  session: ImportSession,
  rows: Rows,
  { options, lockTimeout }: StoreOptions,
): Promise<StoreOutcome> => {
  const startedAt = performance.now();
  for (;;) {
    try {
      return await tryToStore(session, rows, options, lockTimeout);
    } catch (error) {
      const failure = classifyDatabaseError(error);
      // On Citus, transactions that lock the same plants in different nodes wait for each other, until one is aborted.
      const mayRepeat = failure === 'conflict' || failure === 'locked';
      if (!mayRepeat || performance.now() - startedAt >= lockTimeout) throw error;
      await session.query('ROLLBACK');
      await setTimeout(RETRY_DELAY * Math.random());
    }
  }
};

const tryToStore = async (
  session: ImportSession,
  rows: Rows,
  { onConflict, dryRun, atomic, maxErrors }: ImportOptions,
  lockTimeout: number,
): Promise<StoreOutcome> => {
  const { source, count } = rows;
  const isRefused = (failed: number) => rows.failed + failed > (atomic ? 0 : maxErrors);
  for (const statement of beginStatements(source, lockTimeout)) await session.query(statement);
  const insertSmall = async () => (await session.query(INSERT_FREE, source.values.slice(1))).length === count;
  const isSmall = source !== STAGED_ROWS && !dryRun && !isRefused(0);
  if (isSmall && (await storeAll(session, insertSmall))) {
    await session.commit();
    return { ...NO_COUNTS, created: count, errors: [] };
  }
  const found = await findConflicts(session, rows, onConflict);
  const expected = countRows(onConflict, { created: count - found.repeated - found.taken, ...found, refused: 0 });
  if (dryRun || isRefused(expected.failed)) {
    await session.query('ROLLBACK');
    return { ...expected, errors: found.errors };
  }
  // A trigger may leave some out.
  const insertStaged = async () => (await session.insert(INSERT_STAGED_ROWS)) === expected.created;
  const isFree = source === STAGED_ROWS && found.taken === 0;
  if (isFree && (await storeAll(session, insertStaged))) {
    await session.commit();
    return { ...expected, errors: found.errors };
  }
  const { created, refused, errors } = await storeParts(session, rows, {
    takenIds: onConflict === 'error' ? 'skip' : onConflict,
    minStored: onConflict === 'error' ? expected.created : 0,
    isRefused,
  });
  // `storeParts` leaves out the rest of the rows once too many are refused.
  const taken = isRefused(refused) ? found.taken : count - created - found.repeated - refused;
  const counts = countRows(onConflict, { created, repeated: found.repeated, taken, refused });
  if (isRefused(counts.failed)) await session.query('ROLLBACK');
  else await session.commit();
  // Those of taken ids may be among both.
  const byLine = new Map([...found.errors, ...errors].map((error) => [error.line, error]));
  return { ...counts, errors: [...byLine.values()] };
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

const beginStatements = (source: RowSource, lockTimeout: number): string[] => {
  const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED';
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
    if (!isRowRefusal(error)) throw error;
  }
  await session.query(`ROLLBACK TO ${SAVEPOINT}`);
  return false;
};

/** `errors`: of the first rows that fail because of them. */
const findConflicts = async (session: ImportSession, { source }: Rows, onConflict: ImportOptions['onConflict']) => {
  const [repeatedFail, takenFail] = [onConflict !== 'skip', onConflict === 'error'];
  const parameters = [repeatedFail, takenFail, MAX_ERRORS + 1, ...source.values];
  const conflicts = await session.query<ConflictRow>(conflictsStatement(source.from), parameters);
  return {
    repeated: Number(conflicts[0]?.repeated ?? 0),
    taken: Number(conflicts[0]?.taken ?? 0),
    errors: conflicts
      .filter(({ is_repeated: isRepeated }) => (isRepeated ? repeatedFail : takenFail))
      .map(({ line, id, is_repeated: isRepeated }) => toError(Number(line), id, isRepeated)),
  };
};

const toError = (line: number, id: string, isRepeated = false): RowError => {
  const message = isRepeated ? `The id ${id} occurs earlier in this import.` : idTaken(BigInt(id)).message;
  return { line, id: BigInt(id), error: kinds.idTaken.code, message };
};

type PartsOptions = {
  takenIds: TakenIds;
  /** If fewer plants are stored, because ids were taken meanwhile, to list these. */
  minStored: number;
  /** Whether the import ends if so many rows fail. */
  isRefused: (failed: number) => boolean;
};

/** Stores all rows at once. If PostgreSQL rejects one, stores both halves, so that it fails alone. */
const storeParts = async (session: ImportSession, { source, lastLine }: Rows, options: PartsOptions) => {
  const { takenIds, minStored, isRefused } = options;
  const errors: RowError[] = [];
  let created = 0;
  let refused = 0;

  const refuse = async (line: number) => {
    const [row] = await session.query<{ id: string }>(idStatement(source.from), [line, line, 1, ...source.values]);
    const message = 'The database rejected the plant.';
    errors.push({ line, ...(row && { id: BigInt(row.id) }), error: kinds.fieldWrong.code, message });
    refused += 1;
  };
  /** @returns false if PostgreSQL rejected a row, so that none is stored */
  const store = async (from: number, to: number, least: number): Promise<boolean> => {
    try {
      const parameters = [from, to, least, ...source.values];
      const [row] = await session.query<StoreRow>(storeStatement(source.from, takenIds), parameters);
      created += Number(row?.created);
      for (const [line, id] of row?.taken ?? []) errors.push(toError(line, id));
      return true;
    } catch (error) {
      if (!isRowRefusal(error)) throw error;
      await session.query(`ROLLBACK TO ${SAVEPOINT}`);
      return false;
    }
  };
  const storeHalves = async (from: number, to: number, least: number): Promise<void> => {
    if (await store(from, to, least)) return;
    if (from === to) return refuse(from);
    const middle = Math.floor((from + to) / 2);
    const all = minStored === 0 ? 0 : Number.MAX_SAFE_INTEGER;
    await storeHalves(from, middle, all);
    await session.query(SAVEPOINT);
    if (!isRefused(refused)) await storeHalves(middle + 1, to, all);
  };
  await storeHalves(1, lastLine, minStored);
  return { created, refused, errors };
};
