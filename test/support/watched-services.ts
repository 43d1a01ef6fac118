/** A service that must be idle after each test. */
export type WatchedService = { inUse: () => Record<string, number> };

/** The services that run. The environment of the tests, which creates the set, looks at them (test/jest/environment.ts). */
export const { watchedServices = new Set() } = globalThis as { watchedServices?: Set<WatchedService> };
