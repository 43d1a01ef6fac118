const common = {
  testEnvironment: '<rootDir>/test/jest/environment.ts',
  roots: ['<rootDir>/src', '<rootDir>/docs', '<rootDir>/test'],
  modulePathIgnorePatterns: ['<rootDir>/src/generated'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/jest/strip-types.js' },
};

/** One PostgreSQL for all tests; every response is checked against the API description. */
const onPostgres = {
  ...common,
  globalSetup: '<rootDir>/test/jest/start-postgres.ts',
  setupFilesAfterEnv: ['<rootDir>/test/jest/check-answers.ts'],
  globalTeardown: '<rootDir>/test/jest/stop-postgres.ts',
};

/** @type {import('jest').Config} */
export default {
  projects: [
    { ...common, displayName: 'unit', testMatch: ['<rootDir>/{src,docs}/**/*.test.ts'] },
    { ...onPostgres, displayName: 'service', testMatch: ['<rootDir>/test/service/**/*.test.ts'] },
    { ...onPostgres, displayName: 'smoke', testMatch: ['<rootDir>/test/smoke/**/*.test.ts'] },
    { ...onPostgres, displayName: 'system', testMatch: ['<rootDir>/test/system/**/*.test.ts'] },
    { ...onPostgres, displayName: 'attacks', testMatch: ['<rootDir>/test/attacks/*.test.ts'] },
  ],
  reporters: ['default', '<rootDir>/test/jest/list-skipped.js'],
  testSequencer: '<rootDir>/test/jest/sequencer.js',
  randomize: true,
  // Tests create databases and start processes; some machines are slow. Jest ignores this in a project.
  testTimeout: 180_000,
  // One at a time, for test:security, which judges memory and how long others wait. The lanes override this.
  maxWorkers: 1,
};
