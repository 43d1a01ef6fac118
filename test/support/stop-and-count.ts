import { TEST_SESSION } from './test-database.ts';
import type { TestService } from './test-service.ts';
import { waitUntil } from './wait-until.ts';

/** Stops a service and waits until its sessions have ended: only then has PostgreSQL counted all that they did. */
export const stopAndCount = async ({ stopServer, database }: TestService): Promise<void> => {
  await stopServer();
  // On another database, so that the question is not counted.
  const sessions = `SELECT FROM pg_stat_activity
    WHERE datname = '${database.name}' AND application_name <> '${TEST_SESSION}' AND application_name NOT ILIKE 'citus%'`;
  await waitUntil('the end of all sessions', async () => (await database.administer(sessions)).length === 0);
};
