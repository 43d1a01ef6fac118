import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { classifyDatabaseError } from './database-error.ts';
import { withinTime } from './within-time.ts';

const timers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;

test('passes on a result or an error in time, and clears its timer', async () => {
  const before = timers();
  expect(await withinTime(Promise.resolve('answer'), 60_000)).toBe('answer');
  await expect(withinTime(Promise.reject(new RangeError()), 60_000)).rejects.toThrow(RangeError);
  expect(timers()).toBe(before);
});

test('a late response counts as an unreachable database', async () => {
  const error = await withinTime(new Promise<Error>(() => {}), 10).catch((reason: Error) => reason);
  expect([error.message, classifyDatabaseError(error)]).toEqual([
    'The database did not respond in time.',
    'unreachable',
  ]);
});

test('a response that arrived in time counts, even if the process was busy', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[peer]] = await Promise.all([once(server, 'connection'), once(socket, 'connect')]);
  const answer = withinTime(once(socket, 'data'), 100);
  // The answer arrives while this process is busy for longer than the answer may take.
  peer.end('answer');
  const end = performance.now() + 300;
  while (performance.now() < end);
  expect(String(await answer)).toBe('answer');
  socket.destroy();
  server.close();
});
