import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { runProgram } from '../support/run-program.ts';
import { useTestService } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const service = useTestService({ BASE_PATH: '/api' });
let folder: string;
const servers: Server[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plant-store-remote-'));
  await service.database.query('TRUNCATE plants');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  for (const server of servers.splice(0)) {
    server.closeAllConnections?.();
    server.close();
  }
});

const path = (name: string) => join(folder, name);
const url = () => `${service.baseUrl}/api`;
const run = (words: string[], environment: Record<string, string> = {}) =>
  runProgram(words, { PLANT_STORE_URL: url(), PLANT_STORE_TOKEN: service.token, ...environment });
const plants = () => service.database.query('SELECT id::text, name, tag FROM plants ORDER BY id');
const ndjson = (count: number) =>
  Array.from({ length: count }, (_, index) => `{"id":${index + 1},"name":"Fir"}\n`).join('');
/** Starts some other server. @returns its URL */
const listen = async (server: Server) => {
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
/** Starts a server that reads each request, then responds so. */
const respondWith = (status: number, headers: Record<string, string> = {}, body = '') =>
  listen(
    createServer((incoming, response) => {
      incoming.resume().on('end', () => response.writeHead(status, headers).end(body));
    }),
  );

describe('import and export with a service', () => {
  test.each(['all.csv.gz', 'all.ndjson', 'ALL.CSV'])('write and read the file %s', async (name) => {
    await service.database.query(`INSERT INTO plants
      SELECT id * 1500000000000000 - 9000000000000000000, E'Fir "' || id || E'",\\r\\n é', CASE id % 3 WHEN 0 THEN '' WHEN 1 THEN 'Abies' END
      FROM generate_series(1, 3000) AS id`);
    const before = await plants();
    expect(await run(['export', path(name)])).toEqual({ code: 0, stdout: '', stderr: 'Exported 3,000 plants.\n' });
    const bytes = readFileSync(path(name));
    await service.database.query('TRUNCATE plants');
    const { code, stdout } = await run(['import', path(name), '--json']);
    expect([code, stdout]).toEqual([0, '{"created":3000,"replaced":0,"skipped":0,"failed":0,"errors":[]}\n']);
    expect(await plants()).toEqual(before);
    await run(['export', path(`again-${name}`)]);
    expect(readFileSync(path(`again-${name}`)).equals(bytes)).toBe(true);
  });

  test('take the URL and the token from options first', async () => {
    writeFileSync(path('token'), `${service.token}\n`);
    const words = ['export', '--url', `${url()}/`, '--token-file', path('token')];
    expect(await run(words, { PLANT_STORE_URL: 'http://nowhere.invalid', PLANT_STORE_TOKEN: 'x' })).toMatchObject({
      code: 0,
      stderr: 'Exported 0 plants.\n',
    });
  });

  test('filter plants by tag and name', async () => {
    await service.database.query(
      `INSERT INTO plants VALUES (1, 'Silver fir', 'a&b'), (2, 'Fir', 'b'), (3, 'Yew', 'a&b')`,
    );
    const { stdout } = await run(['export', '--tag', 'a&b', '--q', 'FIR']);
    expect(stdout).toBe('{"id":1,"name":"Silver fir","tag":"a&b"}\n');
  });

  test('report failed rows with their files and exact ids, and exit with 1', async () => {
    const max = '9223372036854775807';
    writeFileSync(path('a.ndjson'), `{"id":${max},"name":"Fir"}\n\n{"id":1}\n{"id":${max},"name":"Yew"}\n`);
    writeFileSync(path('b.csv'), 'id;name\n2;T\xe4nnchen\n', 'latin1');
    writeFileSync(path('c.csv'), 'id,name\n');
    const files = [path('a.ndjson'), path('b.csv'), path('c.csv')];
    const result = await run(['import', ...files, '--errors', path('errors'), '--encoding', 'latin1', '--json']);
    const { message, ...summary } = JSON.parse(result.stdout);
    expect(summary).toMatchObject({ created: 2, failed: 2, errors: [{ line: 3 }, { line: 4 }] });
    expect(message).toBe(`${path('c.csv')}: The file has no rows: it has only a header row.`);
    expect(result.stdout).toContain(`"line":4,"id":${max},"error":1004`);
    expect(readFileSync(path('errors'), 'utf8').trimEnd().split('\n')).toHaveLength(2);
    expect([result.code, result.stderr]).toEqual([1, expect.stringMatching(/Not all rows are stored\.\n$/)]);
    expect(await plants()).toMatchObject([{ name: 'Tännchen' }, { id: max }]);
  });

  test('store nothing of a file if more rows than --max-errors fail, and not the files behind it', async () => {
    writeFileSync(path('a.ndjson'), `${'{}\n'.repeat(10)}${ndjson(1)}`);
    writeFileSync(path('b.ndjson'), ndjson(2));
    const { code, stderr } = await run(['import', path('a.ndjson'), path('b.ndjson'), '--max-errors', '3']);
    const said = 'The import stopped at line 4 because more than 3 rows failed. Nothing is stored. See --max-errors.';
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${path('a.ndjson')}: ${said}`)]);
    expect(await plants()).toEqual([]);
  });

  test('pass on the other options of an import', async () => {
    await service.database.query(`INSERT INTO plants VALUES (1, 'Yew')`);
    writeFileSync(path('a.csv'), 'id\tname\n1\tFir\n2\tFir\n');
    const words = ['import', path('a.csv'), '--delimiter', 'tab'];
    expect((await run([...words, '--dry-run'])).stdout).toMatch(/^Dry run, nothing is stored: 1 created, .* 1 failed/);
    expect((await run([...words, '--atomic'])).code).toBe(1);
    expect(await plants()).toHaveLength(1);
    expect((await run([...words, '--on-conflict', 'skip'])).stdout).toMatch(/^1 created, 0 replaced, 1 skipped/);
    expect((await run([...words, '--on-conflict', 'replace'])).stdout).toMatch(/^0 created, 2 replaced, 0 skipped/);
  });

  test('read a JSON array of any size, whose elements keep their numbers', async () => {
    const long = Array.from({ length: 40_000 }, (_, index) => ({ id: index, name: `Fir number ${index}` }));
    writeFileSync(path('a.json.gz'), gzipSync(JSON.stringify([...long, { id: '1' }])));
    const { code, stdout } = await run(['import', path('a.json.gz'), '--json']);
    expect([code, JSON.parse(stdout)]).toMatchObject([1, { created: 40_000, failed: 1, errors: [{ line: 40_001 }] }]);
    writeFileSync(path('b.json'), '{"id":1,"name":"Fir"}');
    const { stderr } = await run(['import', path('b.json')]);
    expect(stderr).toContain('The file is JSON, but not an array of plants. Nothing is stored.\n');
  });

  test('report a file that is cut off, or in another encoding', async () => {
    writeFileSync(path('a.ndjson.gz'), gzipSync(ndjson(3)).subarray(0, 30));
    writeFileSync(path('b.csv'), 'id,name\n1,T\xe4nnchen\n', 'latin1');
    for (const name of ['a.ndjson.gz', 'b.csv']) {
      const { code, stderr } = await run(['import', path(name)]);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/(decompressed|state it)\. Nothing is stored\.\n/)]);
    }
    expect(await run(['import', path('none.csv')])).toMatchObject({
      code: 1,
      stderr: `${path('none.csv')} does not exist.\n`,
    });
  });

  test('store nothing after Ctrl-C, and say so', async () => {
    spawnSync('mkfifo', [path('pipe.ndjson')]);
    const running = run(['import', path('pipe.ndjson'), '--json']);
    const pipe = createWriteStream(path('pipe.ndjson')).on('error', () => {});
    pipe.write(ndjson(6000));
    await waitUntil('the import', () => service.inUse().imports === 1);
    process.emit('SIGINT');
    const { code, stdout, stderr } = await running;
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('Interrupted. Nothing is stored. Repeat the import.\n'),
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ created: 0, stopped: { file: path('pipe.ndjson') } });
    await waitUntil('the end of the import', () => service.inUse().imports === 0);
    expect(await plants()).toEqual([]);
    pipe.destroy();
  });
});

describe('says what to do', () => {
  const importTo = async (to: string, environment: Record<string, string> = {}, words: string[] = []) => {
    writeFileSync(path('a.ndjson'), ndjson(1));
    const { code, stderr } = await run(['import', path('a.ndjson'), '--url', to, ...words], environment);
    expect(code).toBe(1);
    return stderr;
  };

  test('if the token is missing, wrong, revoked or lacks a scope', async () => {
    const reader = await service.tokens.create({ name: 'reader', scopes: ['plants:read'], expiresAt: null });
    expect(await importTo(url(), { PLANT_STORE_TOKEN: '' })).toContain('PLANT_STORE_TOKEN has no access token.');
    expect(await importTo(url(), { PLANT_STORE_TOKEN: 'plant_x\ny' })).toContain('an access token and nothing else');
    expect(await importTo(url(), {}, ['--token-file', path('none')])).toContain('The token cannot be read: ENOENT');
    expect(await importTo(url(), { PLANT_STORE_TOKEN: `plant_${'x'.repeat(43)}` })).toMatch(
      /The token is wrong, expired or revoked\..* Set PLANT_STORE_TOKEN or --token-file to a token of this service\.\n/,
    );
    expect(await importTo(url(), { PLANT_STORE_TOKEN: reader })).toContain(
      'The token lacks the scope plants:write. Set PLANT_STORE_TOKEN or --token-file to a token of this service that has it.',
    );
  });

  test('at once, although there is more to send', async () => {
    spawnSync('mkfifo', [path('pipe.ndjson')]);
    const running = run(['import', path('pipe.ndjson')], { PLANT_STORE_TOKEN: `plant_${'x'.repeat(43)}` });
    const pipe = createWriteStream(path('pipe.ndjson')).on('error', () => {});
    pipe.write(ndjson(100_000));
    expect((await running).stderr).toContain('The token is wrong, expired or revoked.');
    pipe.destroy();
  });

  test('if the URL is wrong', async () => {
    expect(await importTo(service.baseUrl)).toContain('Check that the URL ends with the base path of the service');
    expect(await importTo('http://nowhere.invalid')).toMatch(/cannot be reached: .*ENOTFOUND.* Check the URL/);
    const closed = await respondWith(200);
    servers.splice(0)[0]?.close();
    expect(await importTo(closed)).toMatch(
      /cannot be reached: .*ECONNREFUSED.* Nothing is stored\. Repeat the import\.\n/,
    );
    expect(await importTo(url().replace('http:', 'https:'))).toContain(
      'check whether the URL begins with http: or https:',
    );
  });

  test.each([
    [200, { 'Content-Type': 'text/html' }, '<p>Welcome'],
    [200, { 'Content-Type': 'application/json' }, '{"created":"many"}'],
    [404, { 'Content-Type': 'application/json' }, '{"error":"Not Found"}'],
    [413, { 'Content-Type': 'text/html' }, 'Too large'],
  ])('if it is not a Plant Store: %s %j %s', async (status, headers, body) => {
    const other = await respondWith(status, headers, body);
    const said = `responded with status ${status} and ${headers['Content-Type']}, not as a Plant Store does. Check the URL`;
    expect(await importTo(other)).toContain(said);
    expect(await run(['export', path('all.csv'), '--url', other])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(said),
    });
    expect(readdirSync(folder)).toEqual(['a.ndjson']);
  });

  test('if it sends a response of more than 64 MiB, which may never end', async () => {
    const lengths = [67_108_864, 67_108_865];
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
    const unknown = 'It is not known whether all rows are stored or none. Repeat the import with --on-conflict skip.\n';
    expect(await importTo(await respondWith(504, {}, 'Gateway timeout'))).toContain(unknown);
    const cut = await respondWith(200, { 'Content-Type': 'application/json; charset=utf-8' }, '{"created":1,"repl');
    expect(await importTo(cut)).toContain(unknown);
    const lost = await listen(createServer((incoming) => incoming.resume().on('end', () => incoming.socket.destroy())));
    expect(await importTo(lost)).toContain(`The connection to ${lost} was lost.`);
    expect(await importTo(lost)).toContain(unknown);
    expect(await importTo(lost, {}, ['--dry-run'])).toContain('Nothing is stored.');
    expect((await run(['delete', '--id', '1', '--url', lost])).stderr).toContain(
      'not known whether plants were changed',
    );
    const early = await listen(createServer((incoming) => incoming.once('data', () => incoming.socket.destroy())));
    writeFileSync(path('long.ndjson'), ndjson(300_000));
    const { stderr } = await run(['import', path('long.ndjson'), '--url', early]);
    expect(stderr).toMatch(/was lost\. .* Nothing is stored\. Repeat the import\.\n/);
  });

  test.each(['chunked', 'close'])('if an export is cut off (%s), and leaves the file as it was', async (how) => {
    const cut = createTcpServer((socket) => {
      const header = how === 'chunked' ? 'Transfer-Encoding: chunked' : 'Connection: close';
      socket.once('data', () =>
        socket.end(`HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n${header}\r\n\r\n6\r\nid,nam\r\n`),
      );
    }) as Server;
    writeFileSync(path('all.csv'), 'before');
    const { code, stderr } = await run(['export', path('all.csv'), '--url', await listen(cut)]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/is not complete|not as a Plant Store does/)]);
    expect([readdirSync(folder), readFileSync(path('all.csv'), 'utf8')]).toEqual([['all.csv'], 'before']);
  });
});

test('uses the proxy of HTTP_PROXY, except for this machine', async () => {
  const hosts: string[] = [];
  const proxy = createServer((incoming, response) => {
    const asked = new URL(incoming.url ?? '');
    hosts.push(asked.host);
    const forwarded = request(`${service.baseUrl}${asked.pathname}${asked.search}`, {
      method: incoming.method,
      headers: incoming.headers,
    });
    incoming.pipe(forwarded);
    forwarded.on('response', (found) => found.pipe(response.writeHead(found.statusCode ?? 0, found.headers)));
  });
  const HTTP_PROXY = await listen(proxy);
  const { stderr } = await run(['export', '--url', 'http://plants.invalid/api'], { HTTP_PROXY });
  expect([stderr, hosts]).toEqual(['Exported 0 plants.\n', ['plants.invalid']]);
  expect((await run(['export'], { HTTP_PROXY })).code).toBe(0);
  expect(hosts).toHaveLength(1);
});
