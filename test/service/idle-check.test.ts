import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { createConnectionWatch } from '../jest/connection-watch.ts';
import { createTimerWatch } from '../jest/timer-watch.ts';
import { useOtherServers } from '../support/other-servers.ts';

// Tests what test/jest/environment.ts asks after every test. If a stack changes its form, every other test would pass.

const { listen } = useOtherServers();
const HERE = 'test/service/idle-check.test.ts';

test('a connection is named by the line that opened it, until it is closed', async () => {
  const { port } = new URL(await listen(createServer()));
  const watch = createConnectionWatch();
  try {
    const socket = connect(Number(port));
    expect([...watch.places()]).toEqual([expect.stringMatching(`^connection of ${HERE}:\\d+$`)]);
    await once(socket.end().resume(), 'close');
    expect([...watch.places()]).toEqual([]);
  } finally {
    watch.stop();
  }
});

test('timers are named by the lines that set them, until they fire or are cleared', async () => {
  const target = { setTimeout, setInterval, clearTimeout, clearInterval } as typeof globalThis;
  const watch = createTimerWatch(target);
  const [timeout, interval] = [target.setTimeout(() => {}, 60_000), target.setInterval(() => {}, 60_000)];
  const fired = new Promise<void>((resolve) => void target.setTimeout(resolve, 1));
  const one = expect.stringMatching(`^timer of ${HERE}:\\d+$`);
  expect([...watch.places()]).toEqual([one, one, one]);
  await fired;
  target.clearTimeout(timeout);
  expect([...watch.places()]).toEqual([one]);
  target.clearInterval(interval);
  expect([...watch.places()]).toEqual([]);
});
