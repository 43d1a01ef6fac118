import type { TestDatabase } from './test-database.ts';

/** The sessions that a database has, other than the test's own and those of Citus. */
export const otherSessions = ({ query }: Pick<TestDatabase, 'query'>) =>
  query(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
       AND application_name NOT LIKE 'citus%'`,
  );
