import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, request } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { killChildren, spawnChild } from '../support/children.ts';
import { lockTable, waitForBlocked } from '../support/lock-table.ts';
import { useOtherServers } from '../support/other-servers.ts';
import { describeUnless } from '../support/skip.ts';
import { makeTemporaryFolder, removeDataFolder } from '../support/temporary-folder.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

// Debian installs it where only root's PATH leads.
const env = { PATH: `${process.env.PATH}:/usr/sbin` };
const obstacle = spawnSync('nginx', ['-v'], { env }).error && 'nginx is not installed (Debian: nginx-light)';
const isRoot = process.getuid?.() === 0;
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/** An error of the proxy. */
const LOST = { error: 1501, message: expect.stringContaining('The outcome is unknown') };

describeUnless(obstacle, 'nginx with deploy/nginx/nginx.conf', () => {
  let folder: string;
  let prefix: string;
  beforeEach(() => {
    folder = makeTemporaryFolder();
  });
  afterEach(() => {
    killChildren();
    removeDataFolder(folder);
  });
  /** @param edit changes the configuration */
  const startBefore = async (url: string, edit = (text: string) => text) => {
    const address = `127.0.0.1:${await freePort()}`;
    const paths = TEMPORARY.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ');
    const config = edit(readFileSync('deploy/nginx/nginx.conf', 'utf8'))
      .replace('listen 8080', `listen ${address}`)
      .replace('127.0.0.1:3000', new URL(url).host)
      .replace('http {', `http { ${paths}`);
    const file = join(folder, 'nginx.conf');
    writeFileSync(
      file,
      `${isRoot ? 'user root;' : ''} daemon off; master_process off; pid ${folder}/pid; error_log stderr; ${config}`,
    );
    spawnChild('nginx', ['-p', folder, '-c', file, '-e', 'stderr'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    prefix = `http://${address}/garden/`;
    await waitUntil('nginx', async () => (await fetch(`${prefix}livez`).catch(() => undefined))?.ok === true);
  };

  describe('before a store', () => {
    const start = useTestServices();
    let service: TestService;
    beforeEach(async () => {
      service = await start({ RATE_LIMIT: '100/60', TRUST_PROXY: '1' });
      await startBefore(service.baseUrl);
    });
    const send = (url: string, options: RequestInit = {}) =>
      fetch(new URL(url, prefix), {
        ...options,
        headers: { Authorization: `Bearer ${service.token}`, ...options.headers },
      });

    test('imports, pages, changes by ETag and exports work below the prefix', async () => {
      // More bytes than nginx takes by default.
      const csv = `id,name,tag\n${Array.from({ length: 20_000 }, (_, id) => `${id},Fir ${id},${'x'.repeat(60)}\n`).join('')}`;
      const imported = await send('plants/import', {
        method: 'POST',
        body: csv,
        headers: { 'Content-Type': 'text/csv' },
      });
      expect(await imported.json()).toMatchObject({ created: 20_000, failed: 0 });

      const first = await send('plants?limit=1');
      const [, link = ''] = /^<(.+)>; rel="next"$/.exec(first.headers.get('Link') ?? '') ?? [];
      expect(await (await send(new URL(link, first.url).href)).json()).toMatchObject([{ id: 1, name: 'Fir 1' }]);

      const put = (name: string, condition: string) =>
        send('plants/7', {
          method: 'PUT',
          body: JSON.stringify({ name }),
          headers: { 'Content-Type': 'application/json', 'If-Match': condition },
        });
      // Long enough to be compressed.
      expect((await put('Fir'.repeat(1000), '*')).status).toBe(200);
      const read = await send('plants/7', { headers: { 'Accept-Encoding': 'gzip' } });
      const changed = await put('Yew', read.headers.get('ETag') ?? '');
      expect([changed.status, await changed.text()]).toEqual([200, '{"name":"Yew"}']);

      const exported = await send('plants/export?format=csv');
      expect((await exported.text()).split('\n')).toHaveLength(20_002);
    });

    test('redirects and the API page stay below the prefix', async () => {
      const page = await send('', { headers: { Accept: 'text/html' } });
      expect([page.status, page.url]).toEqual([200, `${prefix}docs`]);
      expect((await send('docs/errors/')).url).toBe(`${prefix}docs/errors`);
      const document = (await (await send('openapi.json')).json()) as { servers: { url: string }[] };
      expect(new URL(document.servers[0]?.url ?? '', `${prefix}openapi.json`).href).toBe(prefix);
    });

    test('a token as large as the store takes is passed on', async () => {
      const { status, headers } = await send('plants', { headers: { Authorization: `Bearer ${'x'.repeat(15_000)}` } });
      expect([status, headers.get('Content-Type')]).toEqual([401, 'application/json; charset=utf-8']);
    });

    test('a store that is gone: 503, code 1501', async () => {
      await service.stopServer();
      const response = await send('plants');
      expect([response.status, response.headers.get('Retry-After'), await response.json()]).toEqual([503, '1', LOST]);
    });

    test('an import may be stored for longer than the store may be silent otherwise', async () => {
      await startBefore(service.baseUrl, (config) =>
        config.replace('proxy_read_timeout 150s', 'proxy_read_timeout 1s'),
      );
      const post = (path: string, body: string, type: string) =>
        send(path, { method: 'POST', body, headers: { 'Content-Type': type } });
      const unlock = await lockTable(service.database.url, 'plants', 'SHARE');
      const importing = post('plants/import', '{"id":1,"name":"Fir"}', 'application/x-ndjson');
      await waitForBlocked(service.database);
      // Begins later.
      const other = await post('plants', '{"id":2,"name":"Fir"}', 'application/json');
      await unlock();
      expect([(await importing).status, await (await importing).json()]).toMatchObject([200, { created: 1 }]);
      expect([other.status, other.headers.get('Retry-After'), await other.json()]).toEqual([503, '1', LOST]);
    });

    test('the address of the client counts, not one that it makes up', async () => {
      await fetch(`${prefix}plants`, { headers: { 'X-Forwarded-For': '192.0.2.1' } });
      const keys = await service.database.query('SELECT key FROM rate_limits');
      expect(keys).toEqual([{ key: 'address:127.0.0.1' }]);
    });
  });

  describe('before another server', () => {
    const { listen } = useOtherServers();
    const startBeforeServer = async (respond: RequestListener) =>
      startBefore(
        await listen(
          createServer((incoming, response) =>
            incoming.url === '/livez' ? response.end() : respond(incoming, response),
          ),
        ),
      );

    test('a change whose kept connection was lost is sent once', async () => {
      const received: string[] = [];
      const used = new Set<object>();
      await startBeforeServer((incoming, response) => {
        received.push(`${incoming.method} ${incoming.url}`);
        if (incoming.method === 'DELETE' && used.has(incoming.socket)) incoming.socket.destroy();
        else response.end();
        used.add(incoming.socket);
      });
      expect((await fetch(`${prefix}plants/1`)).status).toBe(200);
      const changed = await fetch(`${prefix}plants/1`, { method: 'DELETE' });
      expect([changed.status, await changed.json()]).toEqual([503, LOST]);
      expect(received).toEqual(['GET /plants/1', 'DELETE /plants/1']);
    });

    test.each(['plants', 'plants/import'])('%s: a request is passed on as it comes', async (path) => {
      let received = '';
      await startBeforeServer((incoming, response) => {
        incoming.on('data', (bytes) => {
          received += bytes;
        });
        incoming.on('end', () => response.end());
      });
      const sending = request(`${prefix}${path}`, { method: 'POST' });
      sending.write('first');
      await waitUntil('the first bytes', () => received === 'first');
      sending.end('last');
      await once(sending, 'response');
      expect(received).toBe('firstlast');
    });

    test('nginx reads no more of a response than its client does', async () => {
      // Of 1 MiB each, some of which the buffers of sockets hold.
      const pieces = 100;
      let sent = 0;
      const send = function* () {
        for (const piece = Buffer.alloc(1024 * 1024); sent < pieces; sent++) yield piece;
      };
      await startBeforeServer((_incoming, response) => {
        Readable.from(send(), { highWaterMark: 1 }).pipe(response);
      });
      const reading = request(`${prefix}plants/export`).end();
      await once(reading, 'response');
      await waitUntil('the server to wait', async () => {
        const before = sent;
        await setTimeout(500);
        return sent === before;
      });
      expect(sent).toBeLessThan(pieces);
      reading.destroy();
    });
  });
});
