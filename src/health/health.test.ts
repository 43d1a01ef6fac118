import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createHealth } from './health.ts';

// Messages of PostgreSQL's protocol (manual §54.7).
const READY = Buffer.from('5a0000000549', 'hex');
const AUTHENTICATED = Buffer.concat([Buffer.from('520000000800000000', 'hex'), READY]);
const FAILED = Buffer.concat([Buffer.from('4500000017534552524f5200433432503031004d6e6f0000', 'hex'), READY]);

test('concurrent checks share one statement, which fails here', async () => {
  await using stack = new AsyncDisposableStack();
  let statements = 0;
  const first = Promise.withResolvers<Socket>();
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write(AUTHENTICATED);
      socket.on('data', (bytes) => {
        if (!bytes.includes('_prisma_migrations')) return;
        statements += 1;
        if (statements === 1) first.resolve(socket);
        else socket.write(FAILED);
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  const url = `postgresql://user@127.0.0.1:${(server.address() as AddressInfo).port}/plants`;
  const database = { url, connectTimeout: 5000, statementTimeout: 60_000 };
  const health = createHealth({
    database,
    hasConnections: () => true,
    timeout: 60_000,
    warn: () => {},
    onChecked: () => {},
  });
  stack.defer(health.close);
  const checks = Promise.allSettled(Array.from({ length: 100 }, () => health.assertReady()));
  (await first.promise).write(FAILED);
  expect(new Set((await checks).map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect(statements).toBe(1);
});
