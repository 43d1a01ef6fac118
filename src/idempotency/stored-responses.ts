import type { Database } from '../database/database.ts';
import { isRowRefusal, isUniqueViolation, originalMessage } from '../database/database-error.ts';
import type { ExpiredRows } from '../database/sweep.ts';
import { StoreError } from '../errors.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { KeyedRequest } from './keyed-request.ts';

/** `content`: what the response has besides what the request has; null if nothing. */
export type StoredResponse = { status: number; content: unknown };

/** How often a statement is sent, because others may store a response for one of its keys meanwhile. */
const MAX_ATTEMPTS = 5;

/** The condition under which a change is made: no response is stored for its key. (Their column is named `answer`.) */
export const isNewKey = Prisma.sql`NOT EXISTS (SELECT FROM known)`;

type KeyedChange = {
  /** Changes at most one row, if `isNewKey`, and returns for it the columns `done`, which is not null, and `answer`. */
  change: Prisma.Sql;
  /** The status to store if a row was changed. */
  changed: number;
  /** The status to store otherwise: an expression. */
  unchanged: Prisma.Sql;
};

/** A row of `changeStatement`. `matches`: whether the response was to the same request; null if it is the response to this one. */
export type KeyedRow = StoredResponse & { matches: boolean | null };

/** Stores the responses to requests with an Idempotency-Key for `retention` ms; see docs/decisions/0048. */
export const createStoredResponses = ({ database, retention }: { database: Database; retention: number }) => {
  /** When the response to a request of this statement expires. */
  const expiry = Prisma.sql`now() + ${retention}::float8 * interval '1 millisecond'`;

  return {
    expiry,

    /** Makes a change and stores the response, unless one is stored already. Returns one row, for `readResponse`. */
    changeStatement: (
      { key, fingerprint }: KeyedRequest,
      { change, changed, unchanged }: KeyedChange,
    ): Prisma.Sql => Prisma.sql`
      WITH known AS (
        SELECT status, answer, fingerprint = ${bytea(fingerprint)}::bytea AS matches
        FROM idempotency_keys WHERE key = ${bytea(key)}::bytea AND expires_at > now()
      ), changed AS (${change}), stored AS (
        INSERT INTO idempotency_keys (key, fingerprint, status, answer, expires_at)
        SELECT ${bytea(key)}::bytea, ${bytea(fingerprint)}::bytea,
          CASE WHEN done IS NULL THEN ${unchanged} ELSE ${changed}::int END, answer, ${expiry}
        FROM (SELECT) AS request LEFT JOIN changed ON TRUE
        WHERE ${isNewKey}
        RETURNING status, answer
      )
      SELECT status, answer AS content, matches FROM known UNION ALL SELECT status, answer, NULL FROM stored`,

    /**
     * Sends a statement that stores responses. Sends it again if it has changed nothing, because a response was stored for one
     * of its keys meanwhile, or has expired but is still there.
     * @returns its only row
     * @throws {StoreError} 1303 errors of PostgreSQL
     */
    send: async <Row>(statement: Prisma.Sql, keys: readonly KeyedRequest[]): Promise<Row> => {
      for (let attempt = 1; ; attempt++) {
        try {
          const [row] = await database.$queryRaw<[Row]>(statement);
          return row;
        } catch (error) {
          if (isTooLong(error)) throw new StoreError('keyNotSupported', undefined, { cause: error });
          if (!isKeyTaken(error) || attempt === MAX_ATTEMPTS) throw error;
        }
        const list = byteaArray(keys.map(({ key }) => key));
        // In the order of keys, so that concurrent statements do not deadlock.
        await database.$executeRaw`
          DELETE FROM idempotency_keys WHERE key = ANY(ARRAY(
            SELECT key FROM idempotency_keys WHERE key = ANY(${list}::bytea[]) AND expires_at <= now() ORDER BY key FOR UPDATE))`;
      }
    },
  };
};

/** In the order of their index. */
export const expiredResponses: ExpiredRows = {
  name: 'expired responses to idempotency keys',
  table: 'idempotency_keys',
  selection: Prisma.sql`expires_at <= now() ORDER BY expires_at`,
};

export type StoredResponses = ReturnType<typeof createStoredResponses>;

/** @returns the response to a request. @throws {StoreError} 1301 */
export const readResponse = (keyed: KeyedRequest, { matches, ...response }: KeyedRow): StoredResponse => {
  if (matches === false) throw new StoreError('keyReused');
  if (matches) keyed.onReplay();
  return response;
};

/** Whether a constraint of the table of keys was violated, not one of plants. Of any, unless one is named. */
export const isOfKeys = (error: unknown, constraint = 'idempotency_keys'): boolean =>
  originalMessage(error).includes(constraint);

const isTooLong = (error: unknown) => isRowRefusal(error) && isOfKeys(error, 'idempotency_keys_answer_check');
const isKeyTaken = (error: unknown) => isUniqueViolation(error) && isOfKeys(error, 'idempotency_keys_pkey');

/** Bytes in PostgreSQL's notation (manual §8.4.1). */
const bytea = (hex: string): string => `\\x${hex}`;

/** An array of them, in PostgreSQL's notation (manual §8.15.6). */
export const byteaArray = (hex: readonly (string | undefined)[]): string =>
  `{${hex.map((digits) => (digits === undefined ? 'NULL' : `"\\\\x${digits}"`))}}`;
