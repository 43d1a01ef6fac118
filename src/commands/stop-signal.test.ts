import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Log } from '../observability/logger.ts';
import { interruptible, waitForStopSignal } from './stop-signal.ts';

const log = { flush: async () => {} } as Log;
let now = 0;
beforeEach(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'uncaughtException']) process.removeAllListeners(name);
});

test('a service exits at once on a second signal, unless that comes within a second', async () => {
  const exit = jest.spyOn(process, 'exit').mockImplementation((() => {}) as never);
  const stopping = waitForStopSignal(log, { shutdownDelay: 0, shutdownTimeout: 60_000 });
  process.emit('SIGINT', 'SIGINT');
  const { signal, stopped } = await stopping;
  now += 1000;
  process.emit('SIGINT', 'SIGINT');
  await setImmediate();
  expect([signal, exit.mock.calls]).toEqual(['SIGINT', []]);
  now += 1;
  process.emit('SIGTERM', 'SIGTERM');
  await setImmediate();
  expect(exit.mock.calls).toEqual([[1]]);
  stopped();
});

test('a service logs an uncaught exception and exits', async () => {
  const exit = jest.spyOn(process, 'exit').mockImplementation((() => {}) as never);
  const fatal = jest.fn();
  void waitForStopSignal({ ...log, logger: { fatal } } as never, { shutdownDelay: 0, shutdownTimeout: 1 });
  process.emit('uncaughtException', new Error('a bug'));
  await setImmediate();
  expect([fatal.mock.calls, exit.mock.calls]).toEqual([[[{ err: new Error('a bug') }, 'uncaught exception']], [[1]]]);
});

test('a service that has not stopped after SHUTDOWN_DELAY and SHUTDOWN_TIMEOUT exits', async () => {
  jest.useFakeTimers();
  const exit = jest.spyOn(process, 'exit').mockImplementation((() => {}) as never);
  const stopping = waitForStopSignal(log, { shutdownDelay: 3000, shutdownTimeout: 1000 });
  process.emit('SIGTERM', 'SIGTERM');
  await stopping;
  await jest.advanceTimersByTimeAsync(3999);
  expect(exit.mock.calls).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(exit.mock.calls).toEqual([[1]]);
});

test('a command ends at once on a second signal, unless that comes within a second', async () => {
  const kill = jest.spyOn(process, 'kill').mockImplementation(() => true);
  await interruptible(async (signal) => {
    process.emit('SIGINT', 'SIGINT');
    now += 1000;
    process.emit('SIGINT', 'SIGINT');
    expect([signal.aborted, kill.mock.calls]).toEqual([true, []]);
    now += 1;
    process.emit('SIGTERM', 'SIGTERM');
    expect(kill.mock.calls).toEqual([[process.pid, 'SIGTERM']]);
  });
});
