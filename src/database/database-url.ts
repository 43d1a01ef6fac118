import { Client, escapeIdentifier } from 'pg';
import { OperationalError } from '../errors.ts';

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

/** The parameters of a URL that the store or the driver follows. */
const PARAMETERS = [
  ...['schema', 'pgbouncer', 'user', 'password', 'host', 'port', 'options', 'replication'],
  ...['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation', 'uselibpqcompat'],
  ...['application_name', 'fallback_application_name'],
  ...['statement_timeout', 'lock_timeout', 'query_timeout', 'idle_in_transaction_session_timeout'],
];

/** The names of all others. */
export const ignoredParameters = (url: string): string[] => [
  ...new Set(new URL(url).searchParams.keys().filter((name) => !PARAMETERS.includes(name))),
];

/** The schema that a URL names by Prisma's convention, `?schema=`. Undefined: the search path of the role decides. */
export const namedSchema = (url: string): string | undefined => URL.parse(url)?.searchParams.get('schema') || undefined;

/**
 * The URL that the driver gets. Every connection uses it, and so has a name in `pg_stat_activity`. The driver ignores `?schema=`,
 * which becomes the only schema of the session's search path. Through a pooler a session has no settings; see
 * `assertNoPooledSchema`.
 */
export const sessionUrl = (url: string): string => {
  const result = new URL(url);
  if (!result.searchParams.has('application_name')) result.searchParams.set('application_name', 'plant-store');
  if (isPooled(url)) return result.href;
  const schema = namedSchema(url);
  const own = result.searchParams.get('options') ?? '';
  result.searchParams.delete('schema');
  if (schema)
    result.searchParams.set('options', `${own} -c search_path=${escapeOption(escapeIdentifier(schema))}`.trim());
  return result.href;
};

/** PostgreSQL splits options at white space (manual §54.7, StartupMessage). */
const escapeOption = (value: string): string => value.replace(/[\\\s]/g, '\\$&');

/** @throws {OperationalError} the driver cannot use a parameter of the URL, or of the environment, or read a file that it names */
export const assertUsable = (variable: string, url: string): void => {
  try {
    const { port } = new Client({ connectionString: url });
    if (!(port > 0 && port <= 65_535)) throw new Error('the port must be 1 to 65535');
  } catch (error) {
    throw new OperationalError(`${variable} cannot be used: ${(error as Error).message}`);
  }
};

/** Where a URL leads, with the driver's defaults and without the password. */
export const describeDatabase = (url: string): string => {
  const { user, database, host, port } = new Client({ connectionString: url });
  return `${user ? `role "${user}", ` : ''}${database ? `database "${database}" at ` : ''}${host}:${port}`;
};
