import type { Database } from '../database/database.ts';
import { isLockTimeout, isRowRefusal, isUniqueViolation } from '../database/database-error.ts';
import { setLockTimeout } from '../database/lock-timeout.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { AnswerTooLongError, KeyInUseError, KeyReusedError } from './idempotency-errors.ts';
import type { KeyedRequest } from './keyed-request.ts';

/** `answer`: what the response has besides what the request has; null if nothing. */
export type KeptAnswer = { status: number; answer: unknown };

/** How many expired keys one statement deletes, so that it takes only a few ms. */
const DELETED_AT_ONCE = 1000;
/** How often a statement is sent, because other instances may keep an answer for one of its keys meanwhile. */
const MAX_ATTEMPTS = 5;
/** How long a request waits for another instance that works on its key, in ms. Clients get a response within 2 s. */
const PATIENCE = 1500;
/** How long to wait for the lock of a key to find out whether it is held, in ms. */
const PROBE_LOCK_TIMEOUT = 10;

/** The condition under which a change is made: no answer is kept for its key. */
export const isNewKey = Prisma.sql`NOT EXISTS (SELECT FROM known)`;

const NO_CHANGE = Prisma.sql`SELECT 1 AS done, NULL::json AS answer WHERE FALSE`;

type ChangeOnce = {
  /** Changes at most one row, if `isNewKey`, and returns for it the columns `done`, which is not null, and `answer`. */
  change?: Prisma.Sql;
  /** The status to keep if a row was changed. */
  changed: number;
  /** The status to keep otherwise; undefined to keep nothing. */
  unchanged: number | undefined;
  /** How long to wait for locks, in ms. */
  lockTimeout: number;
};

type Outcome = { status: number | null; answer: unknown; isSame: boolean; done: number | null; newAnswer: unknown };

/** Keeps the answers to requests with an Idempotency-Key for `retention` ms; see docs/decisions/0048. */
export const createKeptAnswerRepository = ({ database, retention }: { database: Database; retention: number }) => {
  /** When the answer to a request of this statement expires. */
  const expiry = Prisma.sql`now() + ${retention}::float8 * interval '1 millisecond'`;

  /**
   * Sends a statement that keeps answers. If an answer was kept for one of its keys meanwhile, or has expired but is still
   * there, it has changed nothing and is sent again.
   */
  const send = async <Result>(requests: readonly KeyedRequest[], statement: () => Promise<Result>): Promise<Result> => {
    const keys = byteaArray(requests.map(({ key }) => key));
    for (let attempt = 1; ; attempt++) {
      try {
        return await statement();
      } catch (error) {
        if (!isUniqueViolation(error) || attempt === MAX_ATTEMPTS) throw error;
        await database.$executeRaw`
          DELETE FROM idempotency_keys WHERE key = ANY(${keys}::bytea[]) AND expires_at <= now()`;
      }
    }
  };

  /** Whether a transaction is about to keep an answer for this key. May leave a row behind, which has already expired. */
  const isHeld = async ({ key, fingerprint }: KeyedRequest): Promise<boolean> => {
    try {
      await database.$executeRaw`
        INSERT INTO idempotency_keys (key, fingerprint, status, expires_at)
        SELECT ${bytea(key)}::bytea, ${bytea(fingerprint)}::bytea, 0, '-infinity' FROM ${setLockTimeout(PROBE_LOCK_TIMEOUT)}
        ON CONFLICT DO NOTHING`;
      return false;
    } catch (error) {
      if (isLockTimeout(error)) return true;
      throw error;
    }
  };

  return {
    expiry,
    send,

    /**
     * Makes a change and keeps the answer, unless one is kept already.
     * @returns the answer; undefined if nothing was changed and `unchanged` is undefined
     * @throws {KeyReusedError} {AnswerTooLongError}
     */
    changeOnce: async (request: KeyedRequest, { change = NO_CHANGE, changed, unchanged, lockTimeout }: ChangeOnce) => {
      const [key, fingerprint] = [bytea(request.key), bytea(request.fingerprint)];
      const statement = () => database.$queryRaw<[Outcome]>`
        WITH known AS (
          SELECT status, answer, fingerprint = ${fingerprint}::bytea AS "isSame"
          FROM idempotency_keys WHERE key = ${key}::bytea AND expires_at > now()
        ), changed AS (${change}), kept AS (
          INSERT INTO idempotency_keys (key, fingerprint, status, answer, expires_at)
          SELECT ${key}::bytea, ${fingerprint}::bytea,
            CASE WHEN done IS NULL THEN ${unchanged ?? null}::int ELSE ${changed}::int END, answer, ${expiry}
          FROM ${setLockTimeout(lockTimeout)} LEFT JOIN changed ON TRUE
          WHERE ${isNewKey} AND (done IS NOT NULL OR ${unchanged !== undefined})
        )
        SELECT status, known.answer, "isSame", done, changed.answer AS "newAnswer"
        FROM (SELECT) AS one LEFT JOIN known ON TRUE LEFT JOIN changed ON TRUE`;
      const [{ status, answer, isSame, done, newAnswer }] = await send([request], statement).catch(throwAnswerTooLong);
      if (status !== null) return toReplay(request, { status, answer, isSame });
      if (done === null && unchanged === undefined) return undefined;
      request.answer = 'kept';
      return done === null ? { status: unchanged as number, answer: null } : { status: changed, answer: newAnswer };
    },

    /**
     * Fails with what the statement fails with, which may be that a lock was not free in time.
     * @throws {KeyInUseError} another instance works on the key, and the request has waited long enough for it
     */
    unlessInUse: async <Result>(request: KeyedRequest, statement: () => Promise<Result>): Promise<Result> => {
      try {
        return await statement();
      } catch (error) {
        const isLate = isLockTimeout(error) && performance.now() > request.startedAt + PATIENCE;
        throw isLate && (await isHeld(request)) ? new KeyInUseError() : error;
      }
    },

    /** Deletes some expired answers. Several instances may do so at the same time. @returns whether there may be more */
    deleteExpired: async (): Promise<boolean> => {
      const count = await database.$executeRaw`
        DELETE FROM idempotency_keys WHERE key IN (
          SELECT key FROM idempotency_keys WHERE expires_at <= now() ORDER BY expires_at
          LIMIT ${DELETED_AT_ONCE}::int FOR UPDATE SKIP LOCKED)`;
      return count === DELETED_AT_ONCE;
    },
  };
};

export type KeptAnswerRepository = ReturnType<typeof createKeptAnswerRepository>;

/** @throws {KeyReusedError} */
export const toReplay = (request: KeyedRequest, kept: KeptAnswer & { isSame: boolean }): KeptAnswer => {
  if (!kept.isSame) throw new KeyReusedError();
  request.answer = 'replayed';
  return { status: kept.status, answer: kept.answer };
};

const throwAnswerTooLong = (error: Error): never => {
  const isTooLong = isRowRefusal(error) && error.message.includes('idempotency_keys_answer_check');
  throw isTooLong ? new AnswerTooLongError('The response is too long to be kept.', { cause: error }) : error;
};

/** Bytes in PostgreSQL's notation (manual §8.4.1). */
const bytea = (hex: string): string => `\\x${hex}`;

/** An array of them, in PostgreSQL's notation (manual §8.15.6). */
export const byteaArray = (hex: readonly (string | undefined)[]): string =>
  `{${hex.map((digits) => (digits === undefined ? 'NULL' : `"\\\\x${digits}"`))}}`;
