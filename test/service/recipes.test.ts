import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';

const start = useTestServices();

/** The shell commands of docs/how-to/move-plants.md, in order. */
const recipes = () => {
  const page = readFileSync('docs/how-to/move-plants.md', 'utf8');
  return [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text);
};

const run = (script: string, from: TestService, to: TestService) => {
  const addresses = { FROM: from.baseUrl, TO: to.baseUrl };
  const env = { ...process.env, ...addresses, FROM_TOKEN: from.token, TO_TOKEN: to.token };
  const program = 'plant-store() { node bin/plant-store.js "$@"; }';
  return promisify(execFile)('bash', ['-c', `${program}\n${script}`], { env });
};

test('the documentation: moving all plants to another server, and renaming a tag', async () => {
  const [from, to] = [await start(), await start()];
  await from.database.query(`INSERT INTO plants VALUES
    (9223372036854775807, 'a "quoted" name', 'Abies'), (2, '{"tag":"Abies"}', NULL), (3, 'Yew', 'Abies alba')`);
  await to.database.query("INSERT INTO plants VALUES (3, 'Oak', NULL)");
  const [move = '', rename = '', commands = ''] = recipes();
  expect(JSON.parse((await run(move, from, to)).stdout)).toMatchObject({ created: 2, skipped: 1, failed: 0 });
  expect(JSON.parse((await run(rename, to, to)).stdout)).toMatchObject({ replaced: 1, failed: 0 });
  expect(await to.database.query('SELECT * FROM plants ORDER BY id')).toEqual([
    { id: '2', name: '{"tag":"Abies"}', tag: null },
    { id: '3', name: 'Oak', tag: null },
    { id: '9223372036854775807', name: 'a "quoted" name', tag: 'Fir' },
  ]);
  expect((await run(commands, from, to)).stdout).toMatch(/ 3 skipped, .*\n1 updated\n$/);
  await expect(run(move, from, { ...to, token: 'wrong' })).rejects.toMatchObject({
    stdout: expect.stringContaining('"error":1101'),
  });
});
