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
  const window = seconds * 1000;

  const consume = async (key: string, requests: number): Promise<Total> => {
    try {
      const { consumedPoints, msBeforeNext } = await limiter.consume(key, requests);
      return { requests: consumedPoints, endsIn: msBeforeNext };
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      // Refused from memory, nothing is counted, and the result says 0.
      return { requests: refused.consumedPoints || Number.POSITIVE_INFINITY, endsIn: refused.msBeforeNext };
    }
  };

  /** A window that ends later than one can that begins now: it began before the clock was set back. */
  const shorten = async (key: string) => {
    limiter.deleteInMemoryBlockedAll();
    const latest = Date.now() + window;
    await database.rateLimit.updateMany({ where: { key, expire: { gt: latest } }, data: { expire: latest } });
  };
  return {
    /** Adds requests to a key, as a rule in one statement. Over the limit, the total may be more than was counted. */
    add: async (key: string, requests: number): Promise<Total> => {
      const total = await consume(key, requests);
      if (total.endsIn <= window) return total;
      await shorten(key);
      return { ...total, endsIn: window };
    },
    /** Deletes the windows that have ended, and those that are too far in the future to be of this clock. */
    deleteEnded: async (): Promise<void> => {
      const now = Date.now();
      await database.rateLimit.deleteMany({
        where: { OR: [{ expire: { lt: now } }, { expire: { gt: now + 2 * window } }] },
      });
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
