import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, jest } from '@jest/globals';
import { type BatchLimits, createBatchQueue } from '../../../src/batching/batch-queue.ts';
import type { Database } from '../../../src/database/database.ts';
import { startSweeping } from '../../../src/database/sweep.ts';
import { Prisma } from '../../../src/generated/prisma/client.ts';
import { createStoredResponses } from '../../../src/idempotency/stored-responses.ts';
import { edge, limitOf } from '../../support/limits/edge.ts';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const turn = async () => {
  for (let turns = 0; turns < 5; turns++) await setImmediate();
};
const pass = async (milliseconds: number) => {
  jest.advanceTimersByTime(milliseconds);
  await turn();
};

const BATCHES: BatchLimits = {
  batches: 1,
  batchItems: 1000,
  batchBytes: 1_000_000,
  gatherTime: 0,
  queueItems: 1000,
  queueBytes: 1_000_000,
  deadline: 1000,
};

describe('a queue', () => {
  const ENTRY_OVERHEAD = limitOf('batching/batch-queue.ts ENTRY_OVERHEAD');
  /** A queue of texts, whose batches end when the test ends them. */
  const start = (overrides: Partial<BatchLimits> = {}) => {
    const sizes: number[] = [];
    const ends: (() => void)[] = [];
    const queue = createBatchQueue<string, string>({
      run: (items) => {
        sizes.push(items.length);
        return new Promise((resolve) => ends.push(() => resolve(items.map(() => 'done'))));
      },
      bytesOf: (text) => text.length,
      lateError: () => new RangeError(),
      limits: { ...BATCHES, ...overrides },
    });
    const outcomes: (string | undefined)[] = [];
    return {
      sizes,
      outcomes,
      add: (...texts: string[]) => {
        for (const text of texts) {
          const place = outcomes.push(undefined) - 1;
          queue.add(text).then(
            (outcome) => outcomes.splice(place, 1, outcome),
            (error: Error) => outcomes.splice(place, 1, error.name),
          );
        }
        return turn();
      },
      end: async (place: number) => {
        ends[place]?.();
        await turn();
      },
      /** Ends all batches, and returns their sizes. */
      endAll: async () => {
        for (let place = 0; place < ends.length; place++) {
          ends[place]?.();
          await turn();
        }
        return sizes;
      },
    };
  };
  const many = (count: number, text = '') => Array.from({ length: count }, () => text);

  edge('RequestLimits batches', 'has few batches in progress', {
    value: 3,
    is: [2, 3, 3],
    of: async (count) => {
      const { add, sizes, endAll } = start({ batches: 3, batchItems: 1 });
      await add(...many(count));
      const sent = sizes.length;
      await endAll();
      return sent;
    },
  });
  edge('RequestLimits batchItems', 'has batches of a few items', {
    value: 10,
    is: [[9], [10], [10, 1]],
    of: async (count) => {
      const { add, endAll } = start({ batchItems: 10 });
      await add(...many(count));
      return endAll();
    },
  });
  edge('RequestLimits batchBytes', 'has batches of a few bytes, what an item takes beside its text included', {
    value: 5000,
    is: [[2], [2], [1, 1]],
    of: async (bytes) => {
      const { add, endAll } = start({ batchBytes: 5000 });
      await add('x'.repeat(bytes - 2 * ENTRY_OVERHEAD), '');
      return endAll();
    },
  });
  edge('RequestLimits queueItems', 'holds as many items as QUEUE_LIMIT says', {
    value: 10,
    is: [undefined, undefined, 'overloaded'],
    of: async (count) => {
      const { add, outcomes, endAll } = start({ queueItems: 10 });
      await add('in progress');
      await add(...many(count));
      const last = outcomes.at(-1);
      await endAll();
      return last;
    },
  });
  edge('RequestLimits queueBytes', 'holds few bytes, what an item takes beside its text included', {
    value: 5000,
    is: [undefined, undefined, 'overloaded'],
    of: async (bytes) => {
      const { add, outcomes, endAll } = start({ queueBytes: 5000 });
      await add('in progress');
      await add('x'.repeat(bytes - 2 * ENTRY_OVERHEAD), '');
      const last = outcomes.at(-1);
      await endAll();
      return last;
    },
  });
  edge('RequestLimits deadline', 'fails what waits or is in progress for four fifths of REQUEST_TIMEOUT', {
    is: [
      [undefined, undefined],
      ['RangeError', 'overloaded'],
      ['RangeError', 'overloaded'],
    ],
    of: async (milliseconds) => {
      const { add, outcomes, endAll } = start({ deadline: limitOf('RequestLimits deadline') });
      await add('in progress');
      await add('waiting');
      await pass(milliseconds);
      const found = [...outcomes];
      await endAll();
      return found;
    },
  });
  edge('RequestLimits gatherTime', 'waits for more items for a few ms, each time', {
    value: 5,
    is: [
      [1, 5],
      [2, 6],
      [2, 6],
    ],
    of: async (milliseconds) => {
      const { add, sizes, endAll } = start({ batches: 2, gatherTime: 5 });
      const gatherAgain = async () => {
        await endAll();
        await add(...many(2));
        await add('more');
      };
      await gatherAgain();
      await pass(milliseconds);
      const first = sizes.length;
      // Enough items arrive before the time is over.
      await gatherAgain();
      await add('more');
      await gatherAgain();
      await pass(milliseconds);
      const sent = [first, sizes.length];
      await endAll();
      return sent;
    },
  });
});

const keyTaken = () => Object.assign(new Error('constraint "idempotency_keys_pkey"'), { code: '23505' });

edge('idempotency/stored-responses.ts MAX_ATTEMPTS', 'a request with a key is sent at most five times', {
  is: [undefined, undefined, '23505'],
  of: (attempts) => {
    let left = attempts;
    const $queryRaw = async () => {
      left -= 1;
      if (left > 0) throw keyTaken();
      return [undefined];
    };
    const database = { $queryRaw, $executeRaw: async () => 0 } as unknown as Database;
    const { send } = createStoredResponses({ database, retention: 1000 });
    return send(Prisma.empty, []).catch(({ code }) => code);
  },
});

describe('expired rows', () => {
  const start = (statements: number) => {
    const sent = { statements: 0 };
    const stop = startSweeping({
      database: {
        $executeRaw: async () => (++sent.statements < statements ? limitOf('database/sweep.ts DELETED_AT_ONCE') : 0),
      } as unknown as Database,
      rows: [{ name: 'rows', table: 'rows', selection: Prisma.empty }],
      interval: limitOf('RequestLimits sweepInterval'),
      onFailed: () => {},
    });
    return { sent, stop };
  };

  edge('RequestLimits sweepInterval', 'are looked for once a minute', {
    is: [0, 1, 1],
    of: async (milliseconds) => {
      const { sent, stop } = start(1);
      await jest.advanceTimersByTimeAsync(milliseconds);
      stop();
      return sent.statements;
    },
  });
  edge('database/sweep.ts PAUSE', 'are deleted with pauses of a quarter of a second', {
    is: [1, 2, 2],
    of: async (milliseconds) => {
      const { sent, stop } = start(3);
      await jest.advanceTimersByTimeAsync(limitOf('RequestLimits sweepInterval'));
      await jest.advanceTimersByTimeAsync(milliseconds);
      stop();
      return sent.statements;
    },
  });
});
