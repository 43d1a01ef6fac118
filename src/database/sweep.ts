import { Prisma } from '../generated/prisma/client.ts';
import type { Database } from './database.ts';

/** How many rows one statement deletes, so that it takes only a few ms and locks none of them for long. */
const DELETED_AT_ONCE = 1000;
/** The pause between two statements, in ms: 4,000 rows per second. */
const PAUSE = 250;

/** Rows of a table whose primary key is `key`. */
export type ExpiredRows = {
  /** For the log. */
  name: string;
  table: string;
  /** What follows WHERE in a SELECT of them. */
  selection: Prisma.Sql;
  /** Whether the database can have any. By default, it can. */
  mayExist?: () => Promise<boolean>;
};

/** Deletes some of these rows. Several instances may do so at the same time. @returns whether there may be more */
export const deleteSome = async (database: Database, { table, selection, mayExist }: ExpiredRows): Promise<boolean> => {
  if (mayExist && !(await mayExist())) return false;
  const rows = Prisma.raw(table);
  // An array, because PostgreSQL may run the subquery of IN more than once, and would delete other rows each time.
  const count = await database.$executeRaw`
    DELETE FROM ${rows} WHERE key = ANY(ARRAY(
      SELECT key FROM ${rows} WHERE ${selection} LIMIT ${DELETED_AT_ONCE}::int FOR UPDATE SKIP LOCKED))`;
  return count === DELETED_AT_ONCE;
};

type SweepOptions = {
  database: Database;
  rows: readonly ExpiredRows[];
  /** The pause once there are no more, in ms. */
  interval: number;
  onFailed: (error: Error, rows: ExpiredRows) => void;
};

/** Deletes expired rows slowly, a few at a time. @returns a function that ends it, and does not wait for a statement in progress */
export const startSweeping = ({ database, rows, interval, onFailed }: SweepOptions): (() => void) => {
  const timers = new Map<ExpiredRows, NodeJS.Timeout>();
  let isStopped = false;
  const sweepAfter = (pause: number, expired: ExpiredRows) => {
    if (!isStopped) timers.set(expired, setTimeout(sweep, pause, expired).unref());
  };
  const sweep = async (expired: ExpiredRows) => {
    const areMore = await deleteSome(database, expired).catch((error) => {
      if (!isStopped) onFailed(error, expired);
      return false;
    });
    sweepAfter(areMore ? PAUSE : interval, expired);
  };
  for (const expired of rows) sweepAfter(interval, expired);
  return () => {
    isStopped = true;
    for (const timer of timers.values()) clearTimeout(timer);
  };
};
