import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Database } from '../database/database.ts';
import type { Total } from './batched-counter.ts';

type RateLimitRepositoryOptions = {
  database: Database;
  /** The maximum number of requests of a key in a window. */
  requests: number;
  /** The length of a window, in seconds. It begins with the first request of a key. */
  seconds: number;
};

/** Counts requests by key in PostgreSQL, so that all replicas share the counters. */
export const createRateLimitRepository = ({ database, requests: limit, seconds }: RateLimitRepositoryOptions) => {
  const limiter = new RateLimiterPostgres({
    storeClient: asDriver(database),
    storeType: 'client',
    tableName: 'rate_limits',
    // A migration creates the table, because the role of the service may not.
    tableCreated: true,
    keyPrefix: '',
    points: limit,
    duration: seconds,
    // A key over its limit is rejected from memory until its window ends.
    inMemoryBlockOnConsumed: limit + 1,
    clearExpiredByTimeout: false,
  });
  const window = seconds * 1000;

  const consume = async (key: string, requests: number): Promise<Total> => {
    try {
      const { consumedPoints, msBeforeNext } = await limiter.consume(key, requests);
      return { requests: consumedPoints, endsIn: msBeforeNext };
    } catch (rejected) {
      if (!(rejected instanceof RateLimiterRes)) throw rejected;
      // A request that is rejected from memory is not counted, and consumedPoints is 0.
      return { requests: rejected.consumedPoints || Number.POSITIVE_INFINITY, endsIn: rejected.msBeforeNext };
    }
  };

  /** Shortens a window that ends too far in the future, because it began before the clock was set back. */
  const shorten = async (key: string) => {
    limiter.deleteInMemoryBlockedAll();
    const latest = Date.now() + window;
    await database.rateLimit.updateMany({ where: { key, expire: { gt: latest } }, data: { expire: latest } });
  };
  return {
    /** Adds requests to a key, usually in one statement. Over the limit, the total may exceed the actual count. */
    add: async (key: string, requests: number): Promise<Total> => {
      const total = await consume(key, requests);
      if (total.endsIn <= window) return total;
      await shorten(key);
      return { ...total, endsIn: window };
    },
    /** Deletes windows that have ended, and those that end too far in the future because the clock was set back. */
    deleteEnded: async (): Promise<void> => {
      const now = Date.now();
      await database.rateLimit.deleteMany({
        where: { OR: [{ expire: { lt: now } }, { expire: { gt: now + 2 * window } }] },
      });
    },
  };
};

export type RateLimitRepository = ReturnType<typeof createRateLimitRepository>;

/** The part of `pg` that the limiter uses, on the pool of the service. The limiter's SQL texts are constants. */
const asDriver = (database: Database) => ({
  query: async ({ text, values }: { text: string; values: unknown[] }) => {
    const rows = await database.$queryRawUnsafe<{ points: number; expire: bigint }[]>(text, ...values);
    return { rows: rows.map(({ points, expire }) => ({ points, expire: Number(expire) })) };
  },
});
