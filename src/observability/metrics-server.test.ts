import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createMetricsServer } from './metrics-server.ts';

test('metrics that cannot be read are 500, and the log has the cause', async () => {
  const log = new PassThrough({ encoding: 'utf8' });
  const server = createMetricsServer({
    host: '127.0.0.1',
    port: 0,
    read: async () => Promise.reject(new Error('odd')),
    assertReady: async () => {},
    logger: pino({ base: null }, log),
  });
  await server.start();
  await using _server = { [Symbol.asyncDispose]: server.stop };
  const { port } = JSON.parse(log.read());
  expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(500);
  if (log.readableLength === 0) await once(log, 'readable');
  expect(JSON.parse(log.read())).toMatchObject({
    msg: 'a response on the port of the metrics failed',
    err: { message: 'odd' },
  });
});
