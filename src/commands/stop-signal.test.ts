import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Log } from '../observability/logger.ts';
import { interruptible, waitForStopSignal } from './stop-signal.ts';

let now = 0;
beforeEach(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  jest.restoreAllMocks();
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'uncaughtException']) process.removeAllListeners(name);
});

test('a service exits at once on a second signal, unless that comes within a second', async () => {
  const exit = jest.spyOn(process, 'exit').mockImplementation((() => {}) as never);
  const stopping = waitForStopSignal({ log: { flush: async () => {} } as Log, timeout: 60_000 });
  process.emit('SIGINT', 'SIGINT');
  const { signal, stopped } = await stopping;
  now += 900;
  process.emit('SIGINT', 'SIGINT');
  await setImmediate();
  expect([signal, exit.mock.calls]).toEqual(['SIGINT', []]);
  now += 200;
  process.emit('SIGTERM', 'SIGTERM');
  await setImmediate();
  expect(exit.mock.calls).toEqual([[1]]);
  stopped();
});

test('a command ends at once on a second signal, unless that comes within a second', async () => {
  const kill = jest.spyOn(process, 'kill').mockImplementation(() => true);
  await interruptible(async (signal) => {
    process.emit('SIGINT', 'SIGINT');
    now += 900;
    process.emit('SIGINT', 'SIGINT');
    expect([signal.aborted, kill.mock.calls]).toEqual([true, []]);
    now += 200;
    process.emit('SIGTERM', 'SIGTERM');
    expect(kill.mock.calls).toEqual([[process.pid, 'SIGTERM']]);
  });
});
