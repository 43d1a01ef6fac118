import type { Prisma } from '../generated/prisma/client.ts';
import type { Database } from './database.ts';

/** The longest possible timer, in ms. Prisma's default of 5 s is too short: an export takes as long as its client reads. */
const NO_TIMEOUT = 2 ** 31 - 1;
/**
 * The interval of keep-alive queries, and the idle time after which PostgreSQL ends the transaction, in ms. The timeout keeps
 * the transaction of a crashed process from holding back vacuum.
 */
const SIGN_OF_LIFE_INTERVAL = 20_000;
const MAX_SILENCE = 60_000;

type SnapshotOptions = {
  database: Database;
  /** How long the transaction may wait for a connection, in ms. */
  startTimeout: number;
};

/** Runs queries in a read-only transaction in which all of them see the same snapshot of the database. */
export const inSnapshot = (
  { database, startTimeout }: SnapshotOptions,
  run: (transaction: Prisma.TransactionClient) => Promise<void>,
): Promise<void> =>
  database.$transaction(
    async (transaction) => {
      // PostgreSQL takes the snapshot at the first query, which is this one.
      await transaction.$queryRaw`
        SELECT set_config('transaction_read_only', 'on', TRUE),
          set_config('idle_in_transaction_session_timeout', ${String(MAX_SILENCE)}, TRUE)`;
      const signOfLife = setInterval(() => transaction.$queryRaw`SELECT 1`.catch(() => {}), SIGN_OF_LIFE_INTERVAL);
      try {
        await run(transaction);
      } finally {
        clearInterval(signOfLife);
      }
    },
    { isolationLevel: 'RepeatableRead', maxWait: startTimeout, timeout: NO_TIMEOUT },
  );
