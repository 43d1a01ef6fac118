import { setImmediate } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { createStatementQueue } from './queues.ts';

const limits = {
  ...{ batches: 2, batchItems: 500, batchBytes: 1_000_000, gatherTime: 0 },
  ...{ queueItems: 100, queueBytes: 1_000_000, deadline: 10_000 },
};

test('runs statements in order, with limited concurrency', async () => {
  const sent: unknown[] = [];
  const pending: (() => void)[] = [];
  const send = createStatementQueue({ limits, lateError: () => new RangeError() });
  const results = [1, 2, 3, 4].map((id) =>
    send({
      send: () => {
        sent.push(id);
        return new Promise<number>((resolve) => pending.push(() => resolve(id)));
      },
      bytes: 0,
      timeout: 10_000,
    }),
  );
  for (const expected of [
    [1, 2],
    [1, 2, 3],
    [1, 2, 3, 4],
  ]) {
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    expect(sent).toEqual(expected);
    pending.shift()?.();
  }
  pending.shift()?.();
  expect(await Promise.all(results)).toEqual([1, 2, 3, 4]);
});

test('takes an outcome that has arrived when the deadline is noticed', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  try {
    const { promise, resolve } = Promise.withResolvers<string>();
    const send = createStatementQueue({ limits, lateError: () => new RangeError() });
    const result = send({ send: () => promise, bytes: 0, timeout: 30 });
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    // The process was busy: Node.js runs timers before it reads what has arrived.
    jest.advanceTimersByTime(30);
    resolve('done');
    expect(await result).toBe('done');
  } finally {
    jest.useRealTimers();
  }
});
