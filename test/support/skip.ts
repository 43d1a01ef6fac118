import { describe, test } from '@jest/globals';

const withReason = (name: string, reason: string) => `${name} [${reason}]`;

/** Unless there is an obstacle, describes tests; else Jest reports them as skipped, with the obstacle in the name. */
export const describeUnless = (obstacle: string | undefined, name: string, body: () => void): void => {
  if (obstacle === undefined) describe(name, body);
  else describe.skip(withReason(name, obstacle), body);
};

/** The same for one test. `timeout` is in ms. */
export const testUnless = (
  obstacle: string | undefined,
  name: string,
  body: () => Promise<void>,
  timeout?: number,
): void => {
  if (obstacle === undefined) test(name, body, timeout);
  else test.skip(withReason(name, obstacle), body, timeout);
};
