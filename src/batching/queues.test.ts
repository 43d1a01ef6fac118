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

test('does not send a statement that may have no outcome at its deadline', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  try {
    const sent: number[] = [];
    const pending: (() => void)[] = [];
    const options = { limits: { ...limits, batches: 1 }, lateError: () => new RangeError(), timeNeeded: 800 };
    const send = createStatementQueue(options);
    const results = [10_000, 10_000, 9500, 20_000].map((timeout, index) => {
      const run = () => {
        sent.push(index);
        return new Promise<string>((resolve) => pending.push(() => resolve('done')));
      };
      return send({ send: run, bytes: 0, timeout }).catch((error: Error) => error.name);
    });
    // The first one takes long.
    for (const time of [9100, 0, 0]) {
      for (let turn = 0; turn < 5; turn++) await setImmediate();
      jest.advanceTimersByTime(time);
      pending.shift()?.();
    }
    expect(await Promise.all(results)).toEqual(['done', 'done', 'overloaded', 'done']);
    expect(sent).toEqual([0, 1, 3]);
  } finally {
    jest.useRealTimers();
  }
});
