import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Database } from '../database/database.ts';
import type { Total } from './count-together.ts';

type RateLimitRepositoryOptions = {
  database: Database;
  /** How many requests a key may make in a window. */
  requests: number;
  /** How long a window is, in seconds; a key's begins with its first request. */
  seconds: number;
};

/** Counts requests by key in PostgreSQL, for all stores on that database together. */
export const createRateLimitRepository = ({ database, requests: limit, seconds }: RateLimitRepositoryOptions) => {
  const limiter = new RateLimiterPostgres({
    storeClient: asDriver(database),
    storeType: 'client',
    tableName: 'rate_limits',
    // By a migration, as the store's role may not make tables.
    tableCreated: true,
    keyPrefix: '',
    points: limit,
    duration: seconds,
    // A key that is over its limit is refused from memory until its window ends.
    inMemoryBlockOnConsumed: limit + 1,
    clearExpiredByTimeout: false,
  });
  return {
    /** Adds requests to a key, in one statement. Over the limit, the total may be more than was counted. */
    add: async (key: string, requests: number): Promise<Total> => {
      try {
        const { consumedPoints, msBeforeNext } = await limiter.consume(key, requests);
        return { requests: consumedPoints, endsIn: msBeforeNext };
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused;
        // Refused from memory, nothing is counted, and the result says 0.
        return { requests: refused.consumedPoints || Number.POSITIVE_INFINITY, endsIn: refused.msBeforeNext };
      }
    },
    /** Deletes the windows that have ended. */
    deleteEnded: async (): Promise<void> => {
      await database.rateLimit.deleteMany({ where: { expire: { lt: Date.now() } } });
    },
  };
};

export type RateLimitRepository = ReturnType<typeof createRateLimitRepository>;

/** The part of `pg` that the limiter uses, on the connections of the store; its texts are constants. */
const asDriver = (database: Database) => ({
  query: async ({ text, values }: { text: string; values: unknown[] }) => {
    const rows = await database.$queryRawUnsafe<{ points: number; expire: bigint }[]>(text, ...values);
    return { rows: rows.map(({ points, expire }) => ({ points, expire: Number(expire) })) };
  },
});
