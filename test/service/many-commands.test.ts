import { beforeEach, describe, expect, test } from '@jest/globals';
import { lockPlants } from '../support/lock-plants.ts';
import { runProgram } from '../support/run-program.ts';
import { shippedLocks } from '../support/test-service.ts';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService({}, { requestLimits: shippedLocks });
beforeEach(() => service.database.query('TRUNCATE plants'));

const run = (words: string[], environment: Record<string, string> = {}) =>
  runProgram(words, { PLANT_STORE_URL: service.baseUrl, PLANT_STORE_TOKEN: service.token, ...environment });

describe('count, delete and patch', () => {
  test.each(['a service', 'the database'])('work with %s', async (what) => {
    await service.database.query(
      "INSERT INTO plants SELECT id, 'Fir', 't' || id % 2 FROM generate_series(1, 10) AS id",
    );
    const environment = what === 'a service' ? {} : { PLANT_STORE_URL: '', DATABASE_URL: service.database.url };
    const outputOf = async (...words: string[]) => (await run(words, environment)).stdout;
    expect(await outputOf('count', '--q', 'f')).toBe('10\n');
    expect(await outputOf('delete', '--tag', 't1', '--dry-run')).toBe('Dry run: 5 deleted\n');
    expect(await outputOf('delete', '--tag', 't1', '--limit', '2', '--json')).toBe('{"deleted":2}\n');
    expect(await outputOf('patch', '{"tag": null}', '--id', '2', '--id', '4', '--id', '99')).toBe('2 updated\n');
    expect(await outputOf('count', '--tag', 't0', '--json')).toBe('{"count":3}\n');
    expect(await service.database.query('SELECT FROM plants')).toHaveLength(8);
  });

  test.each([
    ['a service', 'Another transaction has locked the data; nothing was changed'],
    ['the database', 'Another transaction is in the way: canceling statement due to lock timeout'],
  ])('with %s, a command gives up on a locked plant before its outcome is unknown', async (what, said) => {
    await service.database.query("INSERT INTO plants VALUES (1, 'Fir', 't1')");
    const unlock = await lockPlants(service.database.url);
    const environment = what === 'a service' ? {} : { PLANT_STORE_URL: '', DATABASE_URL: service.database.url };
    const { code, stderr } = await run(['delete', '--tag', 't1'], environment).finally(unlock);
    expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
    expect(await service.database.query('SELECT FROM plants')).toHaveLength(1);
  });

  test.each([
    [['delete'], 'tag, id or q is required'],
    [['delete', '--id', '1', '--id', 'x'], 'must be an integer'],
    [['delete', '--tag', 'a', '--limit', '0'], 'from 1 to 100000'],
    [['patch', '{"tag": 5}', '--tag', 'a'], 'tag must be a string'],
    [['patch', '{', '--tag', 'a'], 'The patch is not JSON'],
    [['patch', '[]', '--tag', 'a'], 'The patch must be'],
    [['patch', '{"name": "M\uFFFDller"}', '--tag', 'a'], 'The patch is not UTF-8'],
    [['patch', '--tag', 'a'], "missing required argument 'patch'"],
    [['delete', '--tag', 'a', '--tag', 'b'], 'only once'],
    [['count', '--q', 'a', '--q', 'b'], 'only once'],
    [['export', '--tag', 'a', '--tag', 'b'], 'only once'],
    [['delete', '--tag', 'a', '--url', ''], '--url is invalid'],
    [['delete', '--tag', 'a', '--token-file', ''], 'must be the name of a file'],
    [['import', '-', '--errors', ''], 'must be the name of a file'],
    [
      ['import', 'a.csv', '--errors', '-'],
      'must be the name of a file, such as /dev/stdin to read or /dev/stderr to write',
    ],
    [['export', '--url', 'ftp://plants'], 'must be a URL such as'],
    [['export', '--url', 'http://me:secret@plants'], 'without a token'],
    [['export', '--url', 'http://plants/?a=b'], 'without a token or a query'],
    [['export', '--url', 'http://plants/?'], 'without a token or a query'],
  ])('%j is a usage error', async (words, said) => {
    const { code, stderr } = await run(words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
    expect(stderr).not.toMatch(/secret|a=b/);
  });
});
