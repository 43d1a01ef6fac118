import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { killChildren } from '../support/children.ts';
import { haproxyObstacle, startHaproxy } from '../support/haproxy.ts';
import { blockedStatements, lockTable } from '../support/lock-table.ts';
import { useOtherServers } from '../support/other-servers.ts';
import { exchangeBytes } from '../support/raw-http.ts';
import { describeUnless } from '../support/skip.ts';
import { makeTemporaryFolder, removeDataFolder } from '../support/temporary-folder.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const REPLICAS = 3;
const CLOSE = 'Connection: close';

/** A request in bytes. */
const ask = (line: string, ...headers: string[]) =>
  [`${line} HTTP/1.1`, 'Host: plants', 'Content-Length: 2', ...headers, '', '{}'].join('\r\n');

describeUnless(haproxyObstacle(), 'HAProxy with deploy/haproxy/haproxy.cfg', () => {
  let folder: string;
  let port: number;
  beforeEach(() => {
    folder = makeTemporaryFolder();
  });
  afterEach(() => {
    killChildren();
    removeDataFolder(folder);
  });
  const startBefore = async (ports: number[], edit?: (text: string) => string) => {
    const { url } = await startHaproxy(ports, join(folder, 'haproxy.log'), edit);
    port = Number(new URL(url).port);
  };
  const send = (bytes: string, localAddress?: string) =>
    exchangeBytes({ port, bytes: Buffer.from(bytes), localAddress });

  describe('when a store is lost before it responds', () => {
    /** What the stores received. The first to receive a request is lost; GET /fine they all answer. */
    let received: string[];
    /** The stores that received it. */
    let receivers: number[];
    let stores: Server[];
    beforeEach(async () => {
      received = [];
      receivers = [];
      stores = Array.from({ length: REPLICAS }, (_, store) =>
        createServer(async (request, response) => {
          await buffer(request);
          const line = `${request.method} ${request.url}`;
          if (request.url === '/readyz' || request.url === '/livez') return response.end();
          received.push(line);
          receivers.push(store);
          if (request.url !== '/fine' && received.filter((one) => one === line).length === 1)
            return request.socket.destroy();
          return response.end();
        }),
      );
      for (const store of stores) await once(store.listen(0, '127.0.0.1'), 'listening');
      await startBefore(stores.map((store) => (store.address() as AddressInfo).port));
    });
    afterEach(() => {
      for (const store of stores) {
        store.close();
        store.closeAllConnections();
      }
    });

    const KEY = 'Idempotency-Key: "8e03978e"';

    test.each([
      ['GET /plants/17', CLOSE],
      ['GET /plants/export', CLOSE],
      ['POST /plants', KEY],
      ['PUT /base/plants/17', KEY],
      ['PUT /plants/-17', KEY],
      ['PATCH /plants/17?x=1', KEY],
      ['DELETE /plants/17', KEY],
    ])('%s, %s: sends it to another store', async (line, header) => {
      expect(await send(ask(line, header, CLOSE))).toMatchObject([{ status: 200 }]);
      expect(received).toEqual([line, line]);
      expect(receivers[1]).not.toBe(receivers[0]);
    });

    test.each([
      ['POST /plants', CLOSE],
      ['PUT /plants/17', CLOSE],
      ['DELETE /plants/17', CLOSE],
      // Imports ignore the key.
      ['POST /plants/import', KEY],
    ])('%s, %s: sends it once, and says that the outcome is unknown', async (line, header) => {
      const [answer] = await send(ask(line, header, CLOSE));
      expect([answer?.status, JSON.parse(answer?.body ?? '')]).toEqual([
        503,
        { error: 1501, message: expect.stringMatching(/outcome is unknown\. Repeat an import with onConflict=skip, /) },
      ]);
      expect(answer?.head).toMatch(/^retry-after: 1$/im);
      expect(received).toEqual([line]);
    });

    test('a later request of a connection: sends it once, and closes the connection', async () => {
      expect(await send(ask('GET /fine') + ask('POST /plants', CLOSE))).toMatchObject([{ status: 200 }]);
      expect(received).toEqual(['GET /fine', 'POST /plants']);
    });
  });

  describe('before stores that say whether they are ready', () => {
    const { listen } = useOtherServers();
    let ports: number[];
    /** `pause` is how long a check takes, in ms. */
    let stores: { isReady: boolean; pause: number; checks: number; requests: number }[];
    beforeEach(async () => {
      stores = Array.from({ length: REPLICAS }, () => ({ isReady: true, pause: 0, checks: 0, requests: 0 }));
      ports = [];
      for (const store of stores) {
        const server = createServer(async ({ url }, response) => {
          if (url === '/readyz') {
            store.checks++;
            await setTimeout(store.pause);
            response.statusCode = store.isReady ? 200 : 503;
          } else if (url !== '/livez') store.requests++;
          response.end();
        });
        ports.push(Number(new URL(await listen(server)).port));
      }
    });
    const setReady = (...isReady: boolean[]) => {
      for (const [index, store] of stores.entries()) store.isReady = isReady[index] === true;
    };
    const get = async () => (await send(ask('GET /fine', CLOSE)))[0];
    const waitForStatus = (status: number) =>
      waitUntil(`the status ${status}`, async () => (await get())?.status === status);

    test('only those that are ready get requests; if none is, clients read that nothing was changed', async () => {
      await startBefore(ports);
      setReady(false, true, true);
      await waitUntil('the second and the third store to share the requests', async () => {
        for (const store of stores) store.requests = 0;
        for (let count = 0; count < 2 * REPLICAS; count++) await get();
        return stores.map(({ requests }) => requests > 0).join() === 'false,true,true';
      });
      setReady(false, false, false);
      await waitForStatus(503);
      const refused = await get();
      expect(refused?.head).toMatch(/^retry-after: 1$/im);
      expect(JSON.parse(refused?.body ?? '')).toEqual({
        error: 1501,
        message: expect.stringContaining('nothing was changed'),
      });
      setReady(true, false, false);
      await waitForStatus(200);
    });

    test('they may take longer for a check than HAProxy waits until the next one', async () => {
      await startBefore(ports);
      for (const store of stores) Object.assign(store, { pause: 700, checks: 0 });
      await waitUntil('two checks of each store to end', () => stores.every(({ checks }) => checks > 2));
      await waitForStatus(200);
    });

    test('a client that does not finish its header gets the status 408', async () => {
      await startBefore(ports, (text) => text.replace('timeout http-request 10s', 'timeout http-request 1s'));
      const bytes = Buffer.from('GET /fine HTTP/1.1\r\nHost: plants\r\n');
      expect(await exchangeBytes({ port, bytes, deadline: 45_000 })).toMatchObject([{ status: 408 }]);
    });
  });

  describe('before three stores', () => {
    const start = useTestServices();

    test('imports and exports may take longer than the timeouts of other requests', async () => {
      const { database, token, ...service } = await start();
      const servicePort = Number(new URL(service.baseUrl).port);
      await startBefore([servicePort, servicePort, servicePort], (text) =>
        text.replace('timeout client 90s', 'timeout client 1s').replace('timeout server 90s', 'timeout server 1s'),
      );
      const headers = { Authorization: `Bearer ${token}` };
      const post = (path: string, body: string, type: string) =>
        fetch(`http://127.0.0.1:${port}${path}`, {
          method: 'POST',
          headers: { ...headers, 'Content-Type': type },
          body,
        });
      const unlock = await lockTable(database.url, 'plants');
      const importing = post('/plants/import', '{"id":1,"name":"Fir"}', 'application/x-ndjson');
      const exporting = fetch(`http://127.0.0.1:${port}/plants/export`, { headers });
      await waitUntil('both to wait', async () => (await blockedStatements(database)).length === 2);
      // The timeouts hold for others, and this one begins later.
      const other = await post('/plants', '{"id":2,"name":"Fir"}', 'application/json');
      await unlock();
      expect([(await importing).status, await (await importing).json()]).toMatchObject([200, { created: 1 }]);
      expect([(await exporting).status, await (await exporting).text()]).toEqual([200, expect.any(String)]);
      expect([other.status, other.headers.get('Retry-After'), await other.json()]).toEqual([
        503,
        '1',
        {
          error: 1501,
          message: expect.stringMatching(/did not respond in time\. The outcome is unknown\. Repeat an import /),
        },
      ]);
    });

    test('the ETag of a plant meets If-Match, although the client accepts compression', async () => {
      const { baseUrl, token, post } = await start();
      await post({ id: 1, name: 'Fir'.repeat(1000) });
      const servicePort = Number(new URL(baseUrl).port);
      await startBefore([servicePort, servicePort, servicePort]);
      const url = `http://127.0.0.1:${port}/plants/1`;
      const headers = { Authorization: `Bearer ${token}`, 'Accept-Encoding': 'gzip, br' };
      const condition = (await fetch(url, { headers })).headers.get('ETag') ?? '';
      const deleted = await fetch(url, { method: 'DELETE', headers: { ...headers, 'If-Match': condition } });
      expect([condition, deleted.status]).toEqual([expect.stringMatching(/^"/), 204]);
    });

    test('all count the requests of a client together, by an address that it cannot forge', async () => {
      const settings = { RATE_LIMIT: '6/60', TRUST_PROXY: '1' };
      const first = await start(settings);
      const options = { databaseUrl: first.database.url };
      const services = [first, await start(settings, options), await start(settings, options)];
      await startBefore(services.map(({ baseUrl }) => Number(new URL(baseUrl).port)));
      const statusFrom = async (localAddress: string, forged: string) => {
        const headers = [`X-Forwarded-For: ${forged}`, `Forwarded: for=${forged}`, 'Connection: close'];
        return (await send(ask('POST /plants', ...headers), localAddress))[0]?.status;
      };
      const statuses: unknown[] = [];
      for (let turn = 0; turn < 9; turn++) statuses.push(await statusFrom('127.0.0.2', `192.0.2.${turn}`));
      expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429, 429, 429]);
      expect(await statusFrom('127.0.0.3', '127.0.0.2')).toBe(401);
      const keys = await first.database.query('SELECT key FROM rate_limits ORDER BY key');
      expect(keys).toEqual([{ key: 'address:127.0.0.2' }, { key: 'address:127.0.0.3' }]);
      const busy = services.filter(({ log }) => log.some(({ path }) => path === '/plants'));
      expect(busy).toHaveLength(REPLICAS);
    });
  });
});
