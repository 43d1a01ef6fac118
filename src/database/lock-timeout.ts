import { Prisma } from '../generated/prisma/client.ts';

/**
 * A row source that sets how long the statement waits for each lock, in ms. PostgreSQL reads it before it changes a row. (Only for
 * statements that write: reads wait for no row, and may wait for a migration.)
 */
export const setLockTimeout = (milliseconds: number) =>
  Prisma.sql`(SELECT set_config('lock_timeout', ${String(milliseconds)}, TRUE)) AS setting`;
