import { afterEach, expect, jest, test } from '@jest/globals';
import type { Logger } from 'pino';
import { createOutageWatch, DATABASE_LOST } from './outage-watch.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

test('connections that are refused now and then are logged at most once a second', () => {
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  const lines: string[] = [];
  const log = (_fields: object, message: string) => void lines.push(`${now} ${message}`);
  const watch = createOutageWatch({ logger: { error: log, info: log } as unknown as Logger, lines: DATABASE_LOST });
  watch();
  for (const time of [1, 2, 3, 1000, 1001, 1002]) {
    now = time;
    watch(new Error('too many connections'));
    watch(new Error('too many connections'));
    watch();
  }
  expect(lines).toEqual(
    [1, 1001].flatMap((time) => [
      `${time} the database cannot be reached`,
      `${time} the database can be reached again`,
    ]),
  );
});
