import type { Database } from '../database/database.ts';
import type { ExpiredRows } from '../database/sweep.ts';
import { Prisma } from '../generated/prisma/client.ts';

/** The requests of a key so far, and the time until its window ends, in ms. */
type Total = { requests: number; endsIn: number };

/** PostgreSQL's clock, in ms since 1970. */
const present = Prisma.sql`round(extract(epoch FROM now()) * 1000)::bigint`;

const lengthOf = (seconds: number) => Prisma.raw(`${seconds * 1000}::bigint`);

/** The counters of windows that have ended, or that end too far in the future. */
export const endedWindows = (seconds: number): ExpiredRows => ({
  name: 'the rate limit counters of ended windows',
  table: 'rate_limits',
  selection: Prisma.sql`expire <= ${present} OR expire > ${present} + 2 * ${lengthOf(seconds)}`,
});

/**
 * Counts requests by key in PostgreSQL, so that all instances share the counters. A window of `seconds` begins with the
 * first request of a key. It is measured on PostgreSQL's clock; one that ends too far in the future began before that
 * clock was set back.
 */
export const createRateLimitRepository = ({ database, seconds }: { database: Database; seconds: number }) => {
  const length = lengthOf(seconds);
  /** Adds a request to each of these keys, of which some may be the same. @returns the totals including it */
  return async (keys: string[]): Promise<Total[]> => {
    // In the order of keys, so that concurrent statements do not deadlock.
    // In ON CONFLICT, Citus takes neither subqueries, functions such as now() nor parameters: the row to insert tells the time.
    const rows = await database.$queryRaw<(Total & { key: string })[]>`
        INSERT INTO rate_limits AS counter (key, points, expire)
        SELECT key, count(*), ${present} + ${length} FROM unnest(${keys}::text[]) AS added (key) GROUP BY key ORDER BY key
        ON CONFLICT (key) DO UPDATE SET
          points = EXCLUDED.points + CASE WHEN counter.expire > EXCLUDED.expire - ${length} THEN counter.points ELSE 0 END,
          expire = CASE WHEN counter.expire > EXCLUDED.expire - ${length}
            THEN least(counter.expire, EXCLUDED.expire) ELSE EXCLUDED.expire END
        RETURNING key, points AS requests, (expire - ${present})::int AS "endsIn"`;
    const totals = new Map(rows.map((row) => [row.key, row]));
    // The total of a key is that of its last request.
    const lastFirst = keys.toReversed().map((key) => {
      const total = totals.get(key) as Total;
      return { requests: total.requests--, endsIn: total.endsIn };
    });
    return lastFirst.reverse();
  };
};
