import { once } from 'node:events';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createMetricsServer } from './metrics-server.ts';

/** Starts a server. `log`: what its log says after that. */
const start = async (read: () => Promise<string>) => {
  const log = new PassThrough({ encoding: 'utf8' });
  const server = createMetricsServer({
    host: '127.0.0.1',
    port: 0,
    read,
    assertReady: async () => {},
    logger: pino({ base: null }, log),
  });
  await server.start();
  const { port }: { port: number } = JSON.parse(log.read());
  return { log, port, url: `http://127.0.0.1:${port}`, stop: server.stop, [Symbol.asyncDispose]: server.stop };
};

test('metrics that cannot be read are 500, and the log has the cause', async () => {
  await using server = await start(() => Promise.reject(new Error('odd')));
  const { log, url } = server;
  expect((await fetch(`${url}/metrics`)).status).toBe(500);
  if (log.readableLength === 0) await once(log, 'readable');
  expect(JSON.parse(log.read())).toMatchObject({
    msg: 'a response on the port of the metrics failed',
    err: { message: 'odd' },
  });
});

test('a request that was refused while its metrics were read gets no second response', async () => {
  const { promise: metrics, reject } = Promise.withResolvers<string>();
  await using server = await start(() => metrics);
  const socket = connect(server.port, '127.0.0.1');
  socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  reject(new Error('odd'));
  expect((await fetch(`${server.url}/livez`)).status).toBe(200);
  const lines: string[] = server.log.read().trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['request refused']);
});

test('a stop does not wait for metrics that are still being read', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const server = await start(() => {
    resolve();
    return new Promise(() => {});
  });
  const cutOff = expect(fetch(`${server.url}/metrics`)).rejects.toThrow('fetch failed');
  await asked;
  const stoppedAt = performance.now();
  await server.stop();
  // The whole process has 10 s to stop.
  expect(performance.now() - stoppedAt).toBeLessThan(5000);
  await cutOff;
});
