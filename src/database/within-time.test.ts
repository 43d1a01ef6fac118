import { expect, test } from '@jest/globals';
import { classifyDatabaseError } from './database-error.ts';
import { withinTime } from './within-time.ts';

const timers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;

test('an answer in time is passed on, and so is a failure; no timer stays', async () => {
  const before = timers();
  expect(await withinTime(Promise.resolve('answer'), 60_000)).toBe('answer');
  await expect(withinTime(Promise.reject(new RangeError()), 60_000)).rejects.toThrow(RangeError);
  expect(timers()).toBe(before);
});

test('an answer that is late is the failure of a database that cannot be reached', async () => {
  const error = await withinTime(new Promise<Error>(() => {}), 10).catch((reason: Error) => reason);
  expect([error.name, classifyDatabaseError(error)]).toEqual(['DatabaseTimeoutError', 'unreachable']);
});
