import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { killChildren, spawnChild } from '../support/children.ts';
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

describeUnless(obstacle, 'nginx with deploy/nginx/nginx.conf', () => {
  const start = useTestServices();
  let folder: string;
  let service: TestService;
  let prefix: string;
  beforeEach(async () => {
    folder = makeTemporaryFolder();
    service = await start({ RATE_LIMIT: '100/60', TRUST_PROXY: '1' });
    const address = `127.0.0.1:${await freePort()}`;
    const paths = TEMPORARY.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ');
    const text = readFileSync('deploy/nginx/nginx.conf', 'utf8')
      .replace('listen 8080', `listen ${address}`)
      .replace('127.0.0.1:3000', new URL(service.baseUrl).host)
      .replace('http {', `http { ${paths}`);
    const file = join(folder, 'nginx.conf');
    writeFileSync(
      file,
      `${isRoot ? 'user root;' : ''} daemon off; master_process off; pid ${folder}/pid; error_log stderr; ${text}`,
    );
    spawnChild('nginx', ['-p', folder, '-c', file, '-e', 'stderr'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    prefix = `http://${address}/garden/`;
    await waitUntil('nginx', async () => (await fetch(`${prefix}livez`).catch(() => undefined))?.ok === true);
  });
  afterEach(() => {
    killChildren();
    removeDataFolder(folder);
  });
  const send = (url: string, options: RequestInit = {}) =>
    fetch(new URL(url, prefix), {
      ...options,
      headers: { Authorization: `Bearer ${service.token}`, ...options.headers },
    });

  test('imports, pages, changes by ETag and exports work below the prefix', async () => {
    const csv = `id,name\n${Array.from({ length: 20_000 }, (_, id) => `${id},Fir ${id}\n`).join('')}`;
    const imported = await send('plants/import', {
      method: 'POST',
      body: csv,
      headers: { 'Content-Type': 'text/csv' },
    });
    expect(await imported.json()).toMatchObject({ created: 20_000, failed: 0 });

    const first = await send('plants?limit=1');
    const [, link = ''] = /^<(.+)>; rel="next"$/.exec(first.headers.get('Link') ?? '') ?? [];
    expect(await (await send(new URL(link, first.url).href)).json()).toEqual([{ id: 1, name: 'Fir 1' }]);

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
    expect((await send('docs/errors/1003')).url).toBe(`${prefix}docs/errors`);
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
    expect([response.status, response.headers.get('Retry-After'), await response.json()]).toEqual([
      503,
      '1',
      { error: 1501, message: expect.stringContaining('The outcome is unknown') },
    ]);
  });

  test('the address of the client counts, not one that it makes up', async () => {
    await fetch(`${prefix}plants`, { headers: { 'X-Forwarded-For': '192.0.2.1' } });
    const keys = await service.database.query('SELECT key FROM rate_limits');
    expect(keys).toEqual([{ key: 'address:127.0.0.1' }]);
  });
});
