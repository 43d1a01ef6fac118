import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { RequestLimits } from '../../src/request-limits.ts';
import { lockTable } from './lock-table.ts';
import type { TestService } from './test-service.ts';
import { useTestService, useTestServices } from './use-test-service.ts';
import { type WatchedPostgres, watchPostgres } from './watched-postgres.ts';

/** So long that nothing ends by its deadline. */
export const PATIENT = { REQUEST_TIMEOUT: '3600', DATABASE_CONNECTIONS: '20' };

/** A database for the tests of a file, which services use through a proxy that shows what they send. */
export const useWatchedDatabase = () => {
  /** Has the database and a token. */
  const own: TestService = useTestService();
  const postgres = {} as WatchedPostgres;
  const locks: Promise<() => Promise<void>>[] = [];
  beforeAll(async () => {
    Object.assign(postgres, await watchPostgres(own.database.url));
  });
  // Before the services stop, which wait for their requests.
  afterEach(async () => {
    for (const locked of locks.splice(0)) await (await locked)();
  });
  const startService = useTestServices();
  afterAll(() => postgres.close());
  return {
    own,
    postgres,
    /** @returns a function that releases the lock, as the end of the test does */
    lock: (table: string, mode?: 'SHARE'): Promise<() => Promise<void>> => {
      const locked = lockTable(own.database.url, table, mode);
      locks.push(locked);
      return locked;
    },
    /** Starts a service for a test. */
    start: (requestLimits: Partial<RequestLimits> = {}, environment: Record<string, string> = {}) =>
      startService({ ...PATIENT, ...environment }, { databaseUrl: postgres.url, requestLimits }),
  };
};
