import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { NO_ROWS } from '../../src/imports/import.ts';
import { runProgram } from '../support/run-program.ts';
import { cleanEnvironment } from '../support/store-process.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

const database = useTestDatabase();
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plant-store-bulk-'));
  await database.query('TRUNCATE plants');
});
afterEach(() => rmSync(folder, { recursive: true }));

const path = (name: string) => join(folder, name);
const run = (...words: string[]) => runProgram(words, { DATABASE_URL: database.url });
const count = async () => Number((await database.query('SELECT count(*) AS count FROM plants'))[0]?.count);
const insert = (count: number) =>
  database.query(`INSERT INTO plants
    SELECT id * 1500000000000000 - 9000000000000000000, E'Fir "' || id || E'",\\r\\n é', CASE id % 3 WHEN 0 THEN '' WHEN 1 THEN 'Abies' END
    FROM generate_series(1, ${count}) AS id`);
const ndjson = (ids: number[]) => ids.map((id) => `{"id":${id},"name":"Fir"}\n`).join('');

describe('plant-store export and import', () => {
  test.each(['all.csv.gz', 'all.ndjson.gz', 'ALL.CSV'])('write and read the file %s', async (name) => {
    await insert(3000);
    const { stdout: expected } = await run('export', '--format', /csv/i.test(name) ? 'csv' : 'ndjson');
    expect(await run('export', path(name))).toMatchObject({ code: 0, stdout: '' });
    const bytes = readFileSync(path(name));
    expect((name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString() === expected).toBe(true);
    expect(readdirSync(folder)).toEqual([name]);
    await database.query('TRUNCATE plants');
    expect(await run('import', path(name), '--json')).toMatchObject({
      code: 0,
      stdout: '{"created":3000,"replaced":0,"skipped":0,"failed":0,"errors":[]}\n',
    });
    expect(await count()).toBe(3000);
    await run('export', path(`again-${name}`));
    expect(readFileSync(path(`again-${name}`)).equals(bytes)).toBe(true);
  });

  test('filter plants by tag and name', async () => {
    await database.query(`INSERT INTO plants VALUES (1, 'Silver fir', 'a'), (2, 'Fir', 'b'), (3, 'Yew', 'a')`);
    expect((await run('export', '--tag', 'a', '--q', 'FIR')).stdout).toBe('{"id":1,"name":"Silver fir","tag":"a"}\n');
  });
});

describe('plant-store export', () => {
  test('does not change the file if it fails', async () => {
    writeFileSync(path('all.csv'), 'before');
    await database.query('ALTER TABLE plants RENAME TO other');
    const { code, stderr } = await run('export', path('all.csv'));
    await database.query('ALTER TABLE other RENAME TO plants');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The database is not migrated\. Run: plant-store migrate\. /),
    ]);
    expect([readdirSync(folder), readFileSync(path('all.csv'), 'utf8')]).toEqual([['all.csv'], 'before']);
  });

  test('writes the file that a link leads to, also if it does not exist yet', async () => {
    mkdirSync(path('backups'));
    symlinkSync('backups/today.csv', path('latest.csv'));
    for (let turn = 0; turn < 2; turn++) {
      await run('export', path('latest.csv'));
      expect(readlinkSync(path('latest.csv'))).toBe('backups/today.csv');
      expect(readFileSync(path('backups/today.csv'), 'utf8')).toBe('id,name,tag\n');
    }
  });

  test('writes to what standard output leads to, and keeps what is there', async () => {
    await database.query("INSERT INTO plants VALUES (1, 'Fir')");
    writeFileSync(path('rows.ndjson'), '{}\n');
    writeFileSync(path('log'), 'earlier\n');
    writeFileSync(path('all.csv'), 'earlier\n');
    const script = `
      plants() { node bin/plant-store.js "$@"; }
      { plants export --format csv /dev/stdout; echo later; } >>"$0/all.csv"
      plants import "$0/rows.ndjson" --errors /dev/stderr 2>>"$0/log"
      plants import "$0/rows.ndjson" --json --errors /dev/stdout >"$0/errors"
      plants import /dev/fd/3 --format csv --errors=/dev/fd/4 3<"$0/all.csv" 4>"$0/none" >"$0/summary" 2>&1
    `;
    const env = { ...process.env, DATABASE_URL: database.url };
    await promisify(execFile)('sh', ['-c', script, folder], { env }).catch(() => {});
    expect(readFileSync(path('all.csv'), 'utf8')).toBe('earlier\nid,name,tag\n1,Fir,\nlater\n');
    expect(readFileSync(path('log'), 'utf8')).toMatch(/^earlier\n[\s\S]*rows\.ndjson:1: [\s\S]*"error":1003/);
    expect(readFileSync(path('errors'), 'utf8')).toMatch(/^\{"created":0.*\}\n\{"file":/);
    expect(readFileSync(path('summary'), 'utf8')).toContain('The header row is "earlier"');
  });

  test('writes to a device, and reports a file that cannot be written', async () => {
    expect((await run('export', '/dev/null', '--format', 'csv')).code).toBe(0);
    const { code, stderr } = await run('export', join(folder, 'none', 'all.csv'));
    expect([code, stderr]).toEqual([1, `The folder ${join(folder, 'none')} does not exist.\n`]);
  });

  test.each([
    [['export', 'all.txt'], 'cannot tell the format from the file name all.txt'],
    [['export', '--format', 'xml'], "'xml' is invalid"],
    [['export', 'a.csv', 'b.csv'], 'too many arguments'],
    [['import', 'all.txt'], 'cannot tell the format from the file name all.txt'],
    [['import', 'a.csv', '--delimiter', '|'], 'must be a comma, a semicolon or tab'],
    [['import', 'a.csv', '--encoding', 'utf-7'], 'must be a label of the Encoding standard'],
    [['import'], "missing required argument 'files'"],
    [['import', 'a.csv', '--on-conflict', 'ask'], "'ask' is invalid"],
    [['import', 'a.csv', '--max-errors', '10001'], 'from 0 to 10000'],
  ])('%j is a usage error', async (words, said) => {
    const { code, stdout, stderr } = await run(...words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(said);
  });
});

describe('plant-store import', () => {
  test('stores valid rows, and reports the others', async () => {
    const max = '9223372036854775807';
    writeFileSync(path('a.ndjson'), `{"id":${max},"name":"Fir"}\n\n{"id":1}\n{"id":${max},"name":"Yew"}\n`);
    writeFileSync(path('b.csv'), 'id,name,tag\n2,Oak,\nx,Oak,\n');
    const result = await run('import', path('a.ndjson'), path('b.csv'), '--errors', path('errors.ndjson'), '--json');
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout)).toMatchObject({
      created: 2,
      failed: 3,
      errors: [{ line: 3 }, { line: 4 }, { line: 3 }],
    });
    expect(result.stdout).toContain(`"line":4,"id":${max},"error":1004`);
    expect(result.stderr).toContain(`${path('b.csv')}:3: `);
    expect(result.stderr).toMatch(/Not all rows are stored\.\n$/);
    const lines = readFileSync(path('errors.ndjson'), 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).file)).toEqual([path('a.ndjson'), path('a.ndjson'), path('b.csv')]);
    expect(await count()).toBe(2);
  });

  test('handles taken ids as --on-conflict says', async () => {
    await database.query(`INSERT INTO plants VALUES (1, 'Yew')`);
    writeFileSync(path('a.ndjson'), ndjson([1, 2]));
    expect(await run('import', path('a.ndjson'), '--dry-run')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^Dry run, nothing is stored: 1 created, 0 replaced, 0 skipped, 1 failed in \d+\.\d s \([\d,]+ rows\/s\)\.\n$/,
      ),
    });
    const dry = await run('import', path('a.ndjson'), '--dry-run', '--json');
    expect(JSON.parse(dry.stdout)).toMatchObject({ dryRun: true, created: 1, failed: 1 });
    expect(await run('import', path('a.ndjson'), '--atomic')).toMatchObject({ code: 1 });
    expect(await count()).toBe(1);
    const skipped = await run('import', path('a.ndjson'), '--on-conflict', 'skip');
    expect([skipped.code, skipped.stdout]).toEqual([
      0,
      expect.stringMatching(/^1 created, 0 replaced, 1 skipped, 0 failed in /),
    ]);
    const replaced = await run('import', path('a.ndjson'), '--on-conflict', 'replace', '--atomic');
    expect([replaced.code, replaced.stdout]).toEqual([
      0,
      expect.stringMatching(/^0 created, 2 replaced, 0 skipped, 0 failed in /),
    ]);
    expect(await database.query('SELECT name FROM plants WHERE id = 1')).toEqual([{ name: 'Fir' }]);
  });

  test('stops if more rows than --max-errors fail', async () => {
    writeFileSync(path('a.ndjson'), `${'{}\n'.repeat(10)}${ndjson([1])}`);
    writeFileSync(path('b.ndjson'), ndjson([2]));
    const { code, stderr } = await run('import', path('a.ndjson'), path('b.ndjson'), '--max-errors', '3');
    expect([code, await count()]).toEqual([1, 0]);
    const said = 'The import stopped at line 4 because more than 3 rows failed. Nothing is stored. See --max-errors.';
    expect(stderr).toContain(`${path('a.ndjson')}: ${said} Files after it, not read: 1.\n`);
  });

  test('reports the same figures each time that all ids are taken, and writes all failed rows to the file', async () => {
    writeFileSync(path('a.ndjson'), ndjson(Array.from({ length: 10_000 }, (_, index) => index)));
    await run('import', path('a.ndjson'));
    for (let times = 0; times < 3; times++) {
      const { stdout } = await run('import', path('a.ndjson'), '--errors', path('errors.ndjson'), '--json');
      const stopped = { file: path('a.ndjson'), stoppedAt: 1001 };
      expect(JSON.parse(stdout)).toMatchObject({ created: 0, failed: 10_000, stopped });
      expect(readFileSync(path('errors.ndjson'), 'utf8').trimEnd().split('\n')).toHaveLength(1001);
    }
  });

  test('reports the failed rows of a file that it cannot read to its end', async () => {
    writeFileSync(path('a.csv'), 'id,name\nx,Oak\n1,"a"b\n');
    const { code, stdout } = await run('import', path('a.csv'), '--errors', path('errors.ndjson'), '--json');
    const errors = [{ file: path('a.csv'), line: 2, error: 1003 }];
    expect([code, JSON.parse(stdout)]).toMatchObject([1, { failed: 1, errors, stopped: { file: path('a.csv') } }]);
    expect(JSON.parse(readFileSync(path('errors.ndjson'), 'utf8'))).toMatchObject(errors[0] as object);
  });

  test('refuses a file of errors that is a file to import, also through a link, and leaves it as it is', async () => {
    writeFileSync(path('a.ndjson'), ndjson([1]));
    symlinkSync('a.ndjson', path('link'));
    const said = (errors: string) => `error: --errors ${errors} would overwrite a file to import; name another file\n`;
    for (const errors of [path('a.ndjson'), path('link')]) {
      const { code, stderr } = await run('import', path('a.ndjson'), '--errors', errors);
      expect([code, stderr]).toEqual([2, expect.stringContaining(said(errors))]);
    }
    const env = cleanEnvironment({ DATABASE_URL: database.url });
    // A pipe that the command itself opens to write would never end.
    for (const [script, errors] of [
      ['node bin/plant-store.js import - --format ndjson --errors "$1" <"$0"', path('a.ndjson')],
      ['cat "$0" | node bin/plant-store.js import - --format ndjson --errors "$1"', '/dev/stdin'],
      ['mkfifo "$1" && node bin/plant-store.js import "$1" --format ndjson --errors "$1"', path('pipe')],
    ] as const) {
      const failed = promisify(execFile)('sh', ['-c', script, path('a.ndjson'), errors], { env });
      await expect(failed).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining(said(errors)) });
    }
    expect([readFileSync(path('a.ndjson'), 'utf8'), await count()]).toEqual([ndjson([1]), 0]);
  });

  test('reads JSON arrays', async () => {
    writeFileSync(path('a.json'), '\ufeff[{"id":9223372036854775807,"name":"Fir"},\n {"id":"1"}]');
    const { code, stdout, stderr } = await run('import', path('a.json'), '--json');
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      { created: 1, failed: 1, errors: [{ line: 2, error: 1003 }] },
    ]);
    expect(stderr).toContain('not "1"; name is required.');
    writeFileSync(path('b.json'), '{"id":1,"name":"Fir"}');
    const object = await run('import', path('b.json'));
    expect(object.stderr).toContain('line, use --format ndjson or csv. Nothing is stored.');
  });

  test.each([[], ['--json'], ['--dry-run'], ['--atomic'], ['--dry-run', '--atomic', '--json']].map((words) => [words]))(
    'exits with 1 if a file has no rows, and stores the others: %j',
    async (words) => {
      writeFileSync(path('a.csv'), 'id,name\n');
      writeFileSync(path('b.ndjson'), ndjson([1, 2]));
      writeFileSync(path('c.ndjson.gz'), gzipSync(''));
      writeFileSync(path('d.json'), '[]');
      const message = ['a.csv', 'c.ndjson.gz', 'd.json'].map((name) => `${path(name)}: ${NO_ROWS}`).join('\n');
      const files = ['a.csv', 'b.ndjson', 'c.ndjson.gz', 'd.json'].map(path);
      const { code, stdout, stderr } = await run('import', ...files, ...words);
      expect([code, stderr]).toEqual([1, `${message}\nNot every file has rows.\n`]);
      if (words.includes('--json')) expect(JSON.parse(stdout)).toMatchObject({ created: 2, failed: 0, message });
      else expect(stdout).toMatch(/2 created, 0 replaced, 0 skipped, 0 failed/);
      expect(await count()).toBe(words.includes('--dry-run') ? 0 : 2);
    },
  );

  test.each([
    ['windows-1252', ';', Buffer.from('ID;Name\r\n1;T\xe4nnchen \x80\r\n', 'latin1'), 'Tännchen €'],
    ['Latin1', ';', Buffer.from('ID;Name\r\n1;T\xe4nnchen \x80\r\n', 'latin1'), 'Tännchen €'],
    ['utf-16le', 'tab', Buffer.from('\ufeffid\tname\n1\tTännchen 🌲\n', 'utf16le'), 'Tännchen 🌲'],
  ])('reads CSV in %s', async (encoding, delimiter, bytes, name) => {
    writeFileSync(path('a.csv'), bytes);
    for (const options of [[], ['--delimiter', delimiter]]) {
      const { code } = await run('import', path('a.csv'), '--encoding', encoding, ...options, '--on-conflict', 'skip');
      expect([code, await database.query('SELECT name FROM plants')]).toEqual([0, [{ name }]]);
    }
  });

  test('says in its own words what is wrong', async () => {
    writeFileSync(path('a.csv'), 'id|name\n1|Fir\n');
    writeFileSync(path('b.csv'), 'id,name\n1,"a"b\n');
    writeFileSync(path('d.csv'), 'id,name\n1,T\xe4nnchen\n', 'latin1');
    await database.query('ALTER TABLE plants RENAME TO other');
    writeFileSync(path('c.ndjson'), ndjson([1]));
    const outputs = [
      await run('import', path('a.csv')),
      await run('import', path('b.csv')),
      await run('import', path('c.ndjson')),
      await run('import', path('d.csv')),
    ];
    await database.query('ALTER TABLE other RENAME TO plants');
    for (const { code, stderr } of outputs) {
      expect(code).toBe(1);
      expect(stderr).toContain('Nothing is stored.');
      expect(stderr).not.toMatch(/body|onConflict|skip|not known/);
    }
    expect(outputs[2]?.stderr).toContain('The database is not migrated. Run: plant-store migrate.');
    expect(outputs[3]?.stderr).toContain('The file is not utf-8, somewhere after line 1. If it is in another encoding');
  });

  test('reports a file that it cannot read', async () => {
    expect(await run('import', path('none.csv'))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/none\.csv does not exist\.\n$/),
    });
    writeFileSync(path('a.ndjson.gz'), gzipSync(ndjson([1, 2, 3])).subarray(0, 30));
    const cut = await run('import', path('a.ndjson.gz'));
    expect([cut.code, cut.stderr]).toEqual([
      1,
      expect.stringContaining('The file could not be decompressed: unexpected end of file. Nothing is stored.\n'),
    ]);
  });
});
