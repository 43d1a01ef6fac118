import { spawnSync } from 'node:child_process';
import { createWriteStream, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { useOtherServers } from '../support/other-servers.ts';
import { testUnless } from '../support/skip.ts';
import { plantLines, useRemoteCommands } from '../support/use-remote-commands.ts';
import { waitUntil } from '../support/wait-until.ts';

const { service, url, path, run } = useRemoteCommands();
const { listen } = useOtherServers();
const plants = () => service.database.query('SELECT id::text, name, tag FROM plants ORDER BY id');

const noFullDevice = existsSync('/dev/full') ? undefined : 'this system has no /dev/full';

describe('import and export with a service', () => {
  test.each(['all.csv.gz', 'all.ndjson', 'ALL.CSV'])('write and read the file %s', async (name) => {
    await service.database.query(`INSERT INTO plants
      SELECT id * 1500000000000000 - 9000000000000000000, E'3" Fir "' || id || E'",\\r\\n é', CASE id % 3 WHEN 0 THEN '' WHEN 1 THEN 'Abies' END
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
    const words = ['export', '--url', `${url()}//`, '--token-file', path('token')];
    expect(await run(words, { PLANT_STORE_URL: 'http://nowhere.invalid', PLANT_STORE_TOKEN: 'x' })).toMatchObject({
      code: 0,
      stderr: 'Exported 0 plants.\n',
    });
  });

  test('exit with 1 if rows failed, also if nobody reads the summary', async () => {
    writeFileSync(path('a.ndjson'), `{}\n${plantLines(1)}`);
    const pipeClosed = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    expect((await run(['import', path('a.ndjson')], {}, pipeClosed)).code).toBe(1);
    expect((await run(['import', path('a.ndjson'), '--dry-run', '--on-conflict', 'skip'], {}, pipeClosed)).code).toBe(
      1,
    );
    writeFileSync(path('b.ndjson'), plantLines(1));
    expect((await run(['import', path('b.ndjson'), '--on-conflict', 'skip'], {}, pipeClosed)).code).toBe(0);
  });

  test('say what was changed although it cannot be printed', async () => {
    const diskFull = Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC' });
    writeFileSync(path('a.ndjson'), plantLines(2));
    const notPrinted = 'The output could not be written: write ENOSPC\n';
    const imported = await run(['import', path('a.ndjson')], {}, diskFull);
    expect([imported.code, imported.stderr]).toEqual([1, expect.stringMatching(`^2 created, .*\n${notPrinted}$`)]);
    const said = { count: '', 'delete --tag x --dry-run': '', 'delete --id 1 --json': '1 deleted.\n' };
    for (const [command, change] of Object.entries(said)) {
      const { code, stderr } = await run(command.split(' '), {}, diskFull);
      expect([code, stderr]).toEqual([1, `${change}${notPrinted}`]);
    }
  });

  testUnless(noFullDevice, 'say what is stored although the errors cannot be written', async () => {
    writeFileSync(path('a.ndjson'), `{}\n${plantLines(1)}`);
    expect(await run(['import', path('a.ndjson'), '--errors', '/dev/full'])).toEqual({
      code: 1,
      stdout: expect.stringContaining('1 created, 0 replaced, 0 skipped, 1 failed'),
      stderr: expect.stringMatching(/a\.ndjson:1: .*\n\/dev\/full cannot be written/),
    });
  });

  test('import nothing if a file for the errors cannot be opened; replace the errors of an earlier import', async () => {
    writeFileSync(path('a.ndjson'), plantLines(1));
    const words = ['import', path('a.ndjson'), '--errors'];
    expect(await run([...words, path('none/errors')])).toEqual({
      code: 1,
      stdout: '',
      stderr: `The folder ${path('none')} does not exist.\n`,
    });
    expect(await service.stored('1')).toBeUndefined();
    writeFileSync(path('errors'), 'before');
    expect((await run([...words, path('errors')])).code).toBe(0);
    expect(readFileSync(path('errors'), 'utf8')).toBe('');
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
    expect(message).toContain(`${path('c.csv')}: The file has no rows: it is empty, or has only a header row`);
    expect(result.stdout).toContain(`"line":4,"id":${max},"error":1004`);
    expect(readFileSync(path('errors'), 'utf8').trimEnd().split('\n')).toHaveLength(2);
    expect([result.code, result.stderr]).toEqual([1, expect.stringMatching(/Not all rows are stored\.\n$/)]);
    expect(await plants()).toMatchObject([{ name: 'Tännchen' }, { id: max }]);
  });

  test('store nothing of a file if more rows than --max-errors fail, and not the files behind it', async () => {
    writeFileSync(path('a.ndjson'), `${'{}\n'.repeat(10)}${plantLines(1)}`);
    writeFileSync(path('b.ndjson'), plantLines(2));
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
    writeFileSync(path('c.json'), '[{"id":-1,"name":"T\xe4nnchen"}]', 'latin1');
    expect((await run(['import', path('c.json'), '--encoding', 'latin1'])).code).toBe(0);
    expect(await service.stored('-1')).toMatchObject({ name: 'Tännchen' });
    writeFileSync(path('b.json'), '{"id":1,"name":"Fir"}');
    const { stderr } = await run(['import', path('b.json')]);
    expect(stderr).toContain('line, use --format ndjson or csv. Nothing is stored.\n');
  });

  test.each([
    ['a.ndjson.gz', gzipSync(plantLines(3)).subarray(0, 30), 'unexpected end of file'],
    ['a.ndjson.gz', plantLines(3), 'incorrect header check'],
    ['a.ndjson.gz', Buffer.concat([gzipSync(plantLines(3)), Buffer.from('more text')]), 'incorrect header check'],
    ['a.csv', Buffer.from('id,name\n1,T\xe4nnchen\n', 'latin1'), 'convert the file to UTF-8'],
  ])('report at once that %s (%p) is broken: %s', async (name, bytes, said) => {
    writeFileSync(path(name), bytes);
    const { code, stderr } = await run(['import', path(name)]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(new RegExp(`${said}\\. Nothing is stored\\.\n`))]);
    expect(await plants()).toEqual([]);
  });

  test('report a file that does not exist', async () => {
    expect(await run(['import', path('none.csv')])).toMatchObject({
      code: 1,
      stderr: `${path('none.csv')} does not exist.\n`,
    });
  });

  test('store a row of a JSON array only if its id is exact', async () => {
    writeFileSync(
      path('a.json'),
      '[{"id":5000.00000000000000000001,"name":"a"},{"id":9007199254740993.5,"name":"b"},{"id":9007199254740993,"name":"c"},{"id":1e2,"name":"d"},{"id":1.5,"name":"e"}]',
    );
    const { stdout } = await run(['import', path('a.json'), '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      created: 2,
      failed: 3,
      errors: [
        { line: 1, error: 1003 },
        { line: 2, error: 1003 },
        { line: 5, error: 1003, message: expect.stringMatching(/, not 1\.5\.$/) },
      ],
    });
    expect((await plants()).map(({ id }) => id)).toEqual(['100', '9007199254740993']);
  });

  test('store nothing after Ctrl-C, and say so', async () => {
    spawnSync('mkfifo', [path('pipe.ndjson')]);
    const running = run(['import', path('pipe.ndjson'), '--json']);
    const pipe = createWriteStream(path('pipe.ndjson')).on('error', () => {});
    pipe.write(plantLines(6000));
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

test('sends the header of an import before its first row', async () => {
  spawnSync('mkfifo', [path('pipe.ndjson')]);
  const hasHeader = Promise.withResolvers<void>();
  const other = await listen(
    createServer((incoming, response) => {
      hasHeader.resolve();
      incoming.pipe(response);
    }),
  );
  const running = run(['import', path('pipe.ndjson'), '--url', other]);
  const pipe = createWriteStream(path('pipe.ndjson'));
  await hasHeader.promise;
  pipe.end();
  expect((await running).code).toBe(1);
});

test('ends after Ctrl-C, although a proxy does not respond', async () => {
  const connected = Promise.withResolvers<void>();
  const silent = createTcpServer((socket) => {
    socket.on('error', () => {});
    connected.resolve();
  });
  const sockets = new Set<{ destroy: () => void }>();
  silent.on('connection', (socket) => sockets.add(socket));
  const HTTPS_PROXY = await listen(silent);
  const running = run(['count', '--url', 'https://plants.invalid'], { HTTPS_PROXY });
  await connected.promise;
  process.emit('SIGINT');
  expect(await running).toMatchObject({ code: 1, stderr: 'Interrupted.\n' });
  for (const socket of sockets) socket.destroy();
});

test.each(['http://user:p#SECRET@proxy:3128', 'http://user:SECRET%@proxy:3128', 'SECRET'])(
  'does not print a proxy that is invalid: %s',
  async (HTTPS_PROXY) => {
    const { code, stderr } = await run(['count', '--url', 'https://plants.invalid'], { HTTPS_PROXY });
    expect([code, stderr.match(/\n/g)?.length, stderr]).toEqual([1, 1, expect.not.stringContaining('SECRET')]);
  },
);

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
