import { describe, test } from '@jest/globals';

/** Whether the tests run on a Citus cluster. */
export const isOnCitus = process.env.TEST_DATABASE === 'citus';

/** An obstacle for tests that do not apply to Citus, or whose promise does not hold there (docs/how-to/citus.md). */
export const onCitus = (reason: string): string | undefined => (isOnCitus ? `on Citus, ${reason}` : undefined);

/** Jest's `describe` and `test`. If there is an obstacle, they skip, and Jest reports the obstacle in the name. */
export const unless = (obstacle: string | undefined) =>
  obstacle === undefined
    ? { describe, test }
    : { describe: withReason(describe.skip, obstacle), test: withReason(test.skip, obstacle) };

export const describeUnless = (obstacle: string | undefined, name: string, body: () => void): void =>
  unless(obstacle).describe(name, body);

/** `timeout` is in ms. */
export const testUnless = (
  obstacle: string | undefined,
  name: string,
  body: () => Promise<void>,
  timeout?: number,
): void => unless(obstacle).test(name, body, timeout);

type Named = (name: string, ...rest: unknown[]) => void;

const withReason = <Api extends typeof describe.skip | typeof test.skip>(skip: Api, reason: string): Api => {
  const rename =
    (named: Named): Named =>
    (name, ...rest) =>
      named(`${name} [${reason}]`, ...rest);
  const each = (...table: unknown[]) => rename((skip.each as (...table: unknown[]) => Named)(...table));
  return Object.assign(rename(skip as Named), { each }) as unknown as Api;
};
