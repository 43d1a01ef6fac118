/** How often to try a property with a database: every time in CI, a quarter of that elsewhere. */
export const propertyRuns = (runs: number): number => (process.env.CI ? runs : Math.ceil(runs / 4));
