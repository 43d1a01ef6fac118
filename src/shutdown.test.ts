import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createShutdown } from './shutdown.ts';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Of the 10 s, 1 s is reserved for the database. */
const CONFIG = { shutdownTimeout: 10_000, shutdownDelay: 20_000 };
const never = () => new Promise<never>(() => {});

type Options = { disconnect?: () => Promise<void>; shutdownTimeout?: number };

const start = ({ disconnect = async () => {}, ...config }: Options = {}) => {
  const seen: string[] = [];
  const note = (what: string) => async () => void seen.push(what);
  const requests = Promise.withResolvers<void>();
  const { stop } = createShutdown({
    config: { ...CONFIG, ...config },
    health: { stop: note('not ready'), close: note('health') },
    server: {
      close: async ({ delay, timeout }) => {
        seen.push(`server: ${delay} ${timeout}`);
        await requests.promise;
      },
    },
    imports: { stop: note('imports stop'), close: note('imports close') },
    stopSweeping: note('sweeping'),
    database: { $disconnect: disconnect as never },
    instruments: { stop: note('instruments') },
  });
  const pass = async (milliseconds: number) => {
    jest.advanceTimersByTime(milliseconds);
    for (let turn = 0; turn < 5; turn++) await setImmediate();
  };
  return { seen, stop, pass, endRequests: requests.resolve };
};

const RELEASED = ['sweeping', 'health', 'imports close', 'instruments'];

test('imports end after half of the time behind the delay, and are cut off after three quarters', async () => {
  const { seen, stop, pass, endRequests } = start();
  const stopped = stop();
  expect(seen).toEqual(['not ready', 'server: 20000 9000']);
  await pass(24_499);
  expect(seen).toHaveLength(2);
  await pass(1);
  expect(seen.slice(2)).toEqual(['imports stop']);
  await pass(2249);
  expect(seen).toHaveLength(3);
  await pass(1);
  expect(seen.slice(3)).toEqual(['imports close']);
  endRequests();
  await stopped;
  expect(seen.slice(4)).toEqual(RELEASED);
});

test('once all requests have their responses, everything is released, and no timer is left', async () => {
  const { seen, stop, endRequests } = start();
  const stopped = stop();
  endRequests();
  await stopped;
  expect(seen.slice(2)).toEqual(RELEASED);
  expect(jest.getTimerCount()).toBe(0);
});

test('a database that does not disconnect is waited for a second at most', async () => {
  const { seen, stop, pass, endRequests } = start({ disconnect: never });
  let isStopped = false;
  const stopped = stop().then(() => {
    isStopped = true;
  });
  endRequests();
  await pass(0);
  await pass(999);
  expect([isStopped, seen.slice(2)]).toEqual([false, RELEASED]);
  await pass(1);
  await stopped;
});

test('of a short time, a fifth is reserved for the database', async () => {
  const { seen, stop, endRequests } = start({ shutdownTimeout: 1000 });
  endRequests();
  await stop();
  expect(seen).toContain('server: 20000 800');
});
