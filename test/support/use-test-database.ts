import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

type Options = {
  migrated?: boolean;
  /** A new database for each test. */
  each?: boolean;
};

/** Creates a database for the tests of a file or a describe block. Its members can be read once these run. */
export const useTestDatabase = ({ each = false, ...options }: Options = {}): TestDatabase => {
  const database = {} as TestDatabase;
  const [before, after] = each ? [beforeEach, afterEach] : [beforeAll, afterAll];
  before(async () => {
    Object.assign(database, await createTestDatabase(options));
  });
  after(() => database.drop());
  return database;
};
