import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, jest, test } from '@jest/globals';
import { createPostgresServer } from '../support/postgres-server.ts';
import { runCommand, startStore } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

jest.setTimeout(120_000);

const folder = useDataFolder();

const ROWS = 60_000;
const rows = Array.from({ length: ROWS }, (_, index) => `{"id":${index + 1},"name":"Fir"}\n`);

test('after PostgreSQL is killed during an import, what was reported as stored is stored, and the rest can be sent again', async () => {
  const postgres = await createPostgresServer({ folder: folder.path, name: 'killed' });
  await postgres.start();
  const environment = { DATA_DIR: folder.path, DATABASE_URL: postgres.url };
  expect(await runCommand(['migrate'], environment)).toMatchObject({ code: 0 });
  const { stdout } = await runCommand(['token', 'create', '--name', 'test'], environment);
  const token = /plant_\S+/.exec(stdout)?.[0];
  const store = await startStore(environment);
  const count = async (where = '') => Number((await postgres.query(`SELECT count(*) FROM plants ${where}`))[0]?.count);
  const open = () => {
    const request = httpRequest(`${store.url}/plants/import?onConflict=skip`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-ndjson' },
    });
    request.on('error', () => {});
    return request;
  };
  const answerOf = async (responded: Promise<unknown[]>) => {
    const [response] = (await responded) as [IncomingMessage];
    return { status: response.statusCode, body: JSON.parse(await text(response)) };
  };
  try {
    const first = open();
    const responded = once(first, 'response');
    first.write(rows.slice(0, 10_000).join(''));
    await waitUntil('rows', async () => (await count()) >= 6000);
    first.write(rows.slice(10_000).join(''));
    await postgres.kill();
    const { status, body } = await answerOf(responded);
    expect([status, body.error]).toEqual([503, 1501]);
    const line = Number(/Every row up to line (\d+) is stored\. Repeat .*=skip\.$/.exec(body.message)?.[1]);
    expect(line).toBeGreaterThanOrEqual(4000);
    await postgres.start();
    expect(await count(`WHERE id <= ${line}`)).toBe(line);
    const stored = await count();
    const again = open();
    again.end(rows.join(''));
    expect(await answerOf(once(again, 'response'))).toMatchObject({
      status: 200,
      body: { created: ROWS - stored, replaced: 0, skipped: stored, failed: 0 },
    });
    expect(await count()).toBe(ROWS);
  } finally {
    await store.stop();
    await postgres.stop();
  }
});
