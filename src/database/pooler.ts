import { OperationalError } from '../operational-error.ts';

/**
 * Whether connections go through a pooler such as PgBouncer in transaction mode, by Prisma's convention: `?pgbouncer=true`. It
 * lends a connection of PostgreSQL to a client for one transaction, so settings, named statements, advisory locks and temporary
 * tables do not last longer, and it refuses startup parameters. See docs/decisions/0044.
 */
export const isPooled = (url = ''): boolean => URL.parse(url)?.searchParams.get('pgbouncer') === 'true';

/** @param task what needs a session, as the subject of a sentence. @throws {OperationalError} */
export const assertSession = (url: string, task: string): void => {
  if (isPooled(url))
    throw new OperationalError(
      `${task} needs a session, and DATABASE_URL goes through a pooler (pgbouncer=true). ` +
        'Set DIRECT_URL to a URL of PostgreSQL itself.',
    );
};
