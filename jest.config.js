/** @type {import('jest').Config} */
export default {
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/src/generated'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/jest/strip-types.js' },
  globalSetup: '<rootDir>/test/jest/start-postgres.ts',
  setupFilesAfterEnv: ['<rootDir>/test/jest/check-answers.ts'],
  globalTeardown: '<rootDir>/test/jest/stop-postgres.ts',
  randomize: true,
  // Processes are started and databases made in them, on machines that are slow at times.
  testTimeout: 60_000,
};
