import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { useOtherServers } from '../support/other-servers.ts';
import { plantLines, useRemoteCommands } from '../support/use-remote-commands.ts';

const { service, url, path, run } = useRemoteCommands();
const { listen, respondWith } = useOtherServers();
afterEach(() => {
  jest.useRealTimers();
});

describe('a command with --url says what to do', () => {
  const importTo = async (to: string, environment: Record<string, string> = {}, words: string[] = []) => {
    writeFileSync(path('a.ndjson'), plantLines(1));
    const { code, stderr } = await run(['import', path('a.ndjson'), '--url', to, ...words], environment);
    expect(code).toBe(1);
    return stderr;
  };

  test('if the token is missing, wrong, revoked or lacks a scope', async () => {
    const reader = await service.tokens.create({ name: 'reader', scopes: ['plants:read'], expiresAt: null });
    expect(await importTo(url(), { PLANT_STORE_TOKEN: '' })).toContain('PLANT_STORE_TOKEN has no access token.');
    expect(await importTo(url(), { PLANT_STORE_TOKEN: 'plant_x\ny' })).toContain(
      'must be an access token and nothing else',
    );
    expect(await importTo(url(), {}, ['--token-file', path('none')])).toContain('The token cannot be read: ENOENT');
    expect(await importTo(url(), { PLANT_STORE_TOKEN: `plant_${'x'.repeat(43)}` })).toMatch(
      /The token is wrong, expired or revoked\..* Use a token of this service: PLANT_STORE_TOKEN, or --token-file FILE\.\n/,
    );
    expect(await importTo(url(), { PLANT_STORE_TOKEN: reader })).toContain(
      'The token lacks the scope plants:write. Use a token of this service that has this scope: PLANT_STORE_TOKEN',
    );
  });

  test('of a count or a dry run no more than that there is no result', async () => {
    const other = await respondWith(502, {}, 'Bad gateway');
    for (const words of [['count'], ['delete', '--id', '1', '--dry-run'], ['delete', '--id', '1']]) {
      const { stderr } = await run([...words, '--url', other]);
      expect([words, /not known/.test(stderr)]).toEqual([words, words.length === 3]);
    }
  });

  test('at once, although there is more to send', async () => {
    spawnSync('mkfifo', [path('pipe.ndjson')]);
    const running = run(['import', path('pipe.ndjson')], { PLANT_STORE_TOKEN: `plant_${'x'.repeat(43)}` });
    const pipe = createWriteStream(path('pipe.ndjson')).on('error', () => {});
    pipe.write(plantLines(100_000));
    expect((await running).stderr).toContain('The token is wrong, expired or revoked.');
    pipe.destroy();
  });

  test('if the URL is wrong', async () => {
    expect(await importTo(service.baseUrl)).toContain('Check that the URL ends with the base path of the service');
    expect(await importTo('http://nowhere.invalid')).toMatch(/cannot be reached: .*ENOTFOUND.* Check the URL/);
    const closed = `http://127.0.0.1:${await freePort()}`;
    expect(await importTo('https://plants.invalid', { HTTPS_PROXY: closed })).toMatch(
      /Check .* HTTPS_PROXY or HTTP_PROXY/,
    );
    const HTTP_PROXY = await respondWith(407, {}, '');
    expect(await importTo('http://plants.invalid', { HTTP_PROXY })).toContain('the user and password of HTTP_PROXY');
    expect(await importTo(closed)).toMatch(
      /cannot be reached: .*ECONNREFUSED.* Nothing is stored\. Repeat the import\.\n/,
    );
    expect(await importTo(url().replace('http:', 'https:'))).toContain(
      'check whether the URL begins with http: or https:',
    );
  });

  test.each([
    ['http:', /407 .*\. Check HTTPS_PROXY, its user and password, and what the proxy allows\./],
    [
      'https:',
      /cannot be reached: the TLS handshake failed\. Perhaps it, or the proxy of HTTPS_PROXY, does not speak TLS/,
    ],
  ])('if a proxy refuses, or does not speak %s', async (protocol, said) => {
    const to = await listen(
      createTcpServer((socket) => socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')),
    );
    const HTTPS_PROXY = to.replace('http:', protocol);
    expect(await importTo('https://plants.invalid', { HTTPS_PROXY })).toMatch(said);
  });

  test('if it switches to another protocol', async () => {
    const to = await listen(
      createTcpServer((socket) =>
        socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
      ),
    );
    expect(await importTo(to)).toContain('cannot be reached: it switches to another protocol. Check the URL');
  });

  test('if a TLS handshake is not answered within 15 s', async () => {
    const silent = createTcpServer();
    const to = (await listen(silent)).replace('http:', 'https:');
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const running = run(['count', '--url', to]);
    const [socket] = await once(silent, 'connection');
    // The client begins the handshake once it has the connection.
    await once(socket, 'data');
    await jest.advanceTimersByTimeAsync(15_000);
    socket.destroy();
    expect((await running).stderr).toContain(`${to} cannot be reached: no connection within 15 s.`);
  });

  test.each([
    [200, { 'Content-Type': 'text/html' }, '<p>Welcome'],
    [200, { 'Content-Type': 'application/json' }, '{"created":"many"}'],
    [404, { 'Content-Type': 'application/json' }, '{"error":"Not Found"}'],
    [413, { 'Content-Type': 'text/html' }, 'Too large', 'Raise the limit on the size of a body at the proxy'],
    [504, { 'Content-Type': 'text/html' }, 'Too late', 'See whether the service runs; or raise the time'],
  ])('if it is not a Plant Store: %s %j %s', async (status, headers, body, advice = 'Check the URL') => {
    const other = await respondWith(status, headers, body);
    const said = `responded with status ${status} and ${headers['Content-Type']}, not as a Plant Store does. ${advice}`;
    expect(await importTo(other)).toContain(said);
    expect(await run(['export', path('all.csv'), '--url', other])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(said),
    });
    expect(readdirSync(path(''))).toEqual(['a.ndjson']);
  });

  test('if it sends a response of more than 16 MiB, which may never end', async () => {
    const lengths = [16_777_216, 16_777_217];
    for (const length of lengths) {
      const other = await respondWith(503, {}, JSON.stringify({ error: 1500, message: 'x' }).padEnd(length));
      const { stderr } = await run(['count', '--url', other]);
      expect(stderr).toMatch(length === lengths[0] ? /^x\n/ : /not as a Plant Store does/);
    }
  });

  test('if it redirects, to where the token is not sent', async () => {
    const other = await respondWith(301, { Location: 'https://plants.example.com/' });
    expect(await importTo(other)).toContain('redirects to https://plants.example.com/. Use the URL of the Plant Store');
  });

  test('if it is lost: nothing is stored, unless everything was sent', async () => {
    const unknown =
      'It is not known whether all rows are stored or none. Repeat the import with --on-conflict skip.\nThe import did not finish.\n';
    expect(await importTo(await respondWith(504, {}, 'Gateway timeout'))).toContain(unknown);
    const cut = await respondWith(200, { 'Content-Type': 'application/json; charset=utf-8' }, '{"created":1,"repl');
    expect(await importTo(cut)).toContain(unknown);
    const within = await listen(
      createServer((incoming, response) => {
        const cutOff = () => incoming.socket.destroy();
        const header = { 'Content-Type': 'application/json', 'Content-Length': 100 };
        incoming.resume().on('end', () => response.writeHead(200, header).write('{"created":1,', cutOff));
      }),
    );
    expect(await importTo(within)).toContain(unknown);
    const lost = await listen(createServer((incoming) => incoming.resume().on('end', () => incoming.socket.destroy())));
    expect(await importTo(lost)).toContain(`The connection to ${lost} was lost.`);
    expect(await importTo(lost)).toContain(unknown);
    expect(await importTo(lost, {}, ['--dry-run'])).toContain('Nothing is stored.');
    expect((await run(['delete', '--id', '1', '--url', lost])).stderr).toContain(
      'not known whether plants were changed',
    );
    const early = await listen(createServer((incoming) => incoming.once('data', () => incoming.socket.destroy())));
    writeFileSync(path('long.ndjson'), plantLines(300_000));
    const { stderr } = await run(['import', path('long.ndjson'), '--url', early]);
    expect(stderr).toMatch(/was lost\. .* Nothing is stored\. Repeat the import\.\n/);
  });

  test.each(['chunked', 'close'])('if an export is cut off (%s), and leaves the file as it was', async (how) => {
    const cut = createTcpServer((socket) => {
      const header = how === 'chunked' ? 'Transfer-Encoding: chunked' : 'Connection: close';
      socket.once('data', () =>
        socket.end(`HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n${header}\r\n\r\n6\r\nid,nam\r\n`),
      );
    });
    writeFileSync(path('all.csv'), 'before');
    const { code, stderr } = await run(['export', path('all.csv'), '--url', await listen(cut)]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/is not complete|not as a Plant Store does/)]);
    expect([readdirSync(path('')), readFileSync(path('all.csv'), 'utf8')]).toEqual([['all.csv'], 'before']);
  });
});
