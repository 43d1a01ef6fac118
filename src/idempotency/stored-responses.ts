import type { Database } from '../database/database.ts';
import { isRowRefusal, isUniqueViolation, originalMessage } from '../database/database-error.ts';
import type { ExpiredRows } from '../database/sweep.ts';
import { StoreError } from '../errors.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { KeyedRequest } from './keyed-request.ts';

/** How often a statement is sent, because others may store a response for one of its keys meanwhile. */
const MAX_ATTEMPTS = 5;

/** Stores the responses to requests with an Idempotency-Key for `retention` ms; see docs/decisions/0048. */
export const createStoredResponses = ({ database, retention }: { database: Database; retention: number }) => {
  /** When the response to a request of this statement expires. */
  const expiry = Prisma.sql`now() + ${retention}::float8 * interval '1 millisecond'`;

  return {
    expiry,

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

/** Whether a constraint of the table of keys was violated, not one of plants. Of any, unless one is named. */
export const isOfKeys = (error: unknown, constraint = 'idempotency_keys'): boolean =>
  originalMessage(error).includes(constraint);

const isTooLong = (error: unknown) => isRowRefusal(error) && isOfKeys(error, 'idempotency_keys_answer_check');
const isKeyTaken = (error: unknown) => isUniqueViolation(error) && isOfKeys(error, 'idempotency_keys_pkey');

/** Bytes in PostgreSQL's notation (manual §8.4.1). */
export const bytea = (hex: string): string => `\\x${hex}`;

/** An array of them, in PostgreSQL's notation (manual §8.15.6). */
export const byteaArray = (hex: readonly (string | undefined)[]): string =>
  `{${hex.map((digits) => (digits === undefined ? 'NULL' : `"\\\\x${digits}"`))}}`;
