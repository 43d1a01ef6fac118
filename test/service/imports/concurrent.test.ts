import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { CREATE_STAGED_ROWS, STAGED_ROWS, storeStatement } from '../../../src/imports/import-statements.ts';
import { waitForBlocked } from '../../support/lock-table.ts';
import { onCitus, testUnless } from '../../support/skip.ts';
import { answerOf, counts, numbered, useImports } from '../../support/use-imports.ts';
import { waitUntil } from '../../support/wait-until.ts';

const client = useImports();
const { start, importPlants, openImport, asOther, count, sessions, metrics } = client;

describe('concurrent imports', () => {
  test('are limited to four, of which a token gets two; more get 503, code 1500', async () => {
    await start({ METRICS_PORT: '0' });
    const other = await asOther();
    const inProgress = async () => (await metrics()).value('plant_store_imports_in_progress') ?? 0;
    const open = [openImport(), openImport()];
    for (const request of open) request.write('\n');
    await waitUntil('two imports', async () => (await inProgress()) >= 2);
    const third = await importPlants('');
    expect([third.status, third.headers.get('retry-after'), third.body]).toEqual([
      503,
      '1',
      { error: 1500, message: 'Too many imports of this token are in progress. Try again later.' },
    ]);
    open.push(openImport('', other), openImport('', other));
    for (const request of open.slice(2)) request.write('\n');
    await waitUntil('four imports', async () => (await inProgress()) >= 4);
    expect(await importPlants('')).toMatchObject({ status: 503, body: { error: 1500 } });
    const answers = open.map(answerOf);
    for (const [index, request] of open.entries()) request.end(`{"id":${index},"name":""}`);
    for (const answer of answers) expect(await answer).toMatchObject({ status: 200, body: counts(1) });
    expect((await importPlants('')).status).toBe(200);
  });

  test('open their session with their first slice', async () => {
    await start();
    const other = await asOther();
    const open = [{}, {}, other, other].map((headers) => openImport('', headers));
    for (const request of open) request.write(numbered(1, 10));
    await setTimeout(300);
    expect(await sessions()).toEqual([]);
    open[0]?.write(numbered(11, 5100));
    await waitUntil('a session', async () => (await sessions()).length === 1);
    for (const request of open) request.end();
    for (const request of open) expect((await answerOf(request)).status).toBe(200);
  });

  test('leave connections for single requests, even while they wait for their clients', async () => {
    await start({ DATABASE_CONNECTIONS: '2' });
    const queries = ['', '?onConflict=replace', '?dryRun=true', '?atomic=true'];
    const other = await asOther();
    const open = queries.map((query, index) => openImport(query, index % 2 === 0 ? {} : other));
    for (const request of open) request.write(numbered(1, 5100));
    await waitUntil('four sessions', async () => (await sessions()).length === 4);
    for (let id = 10_001; id < 10_020; id++) expect((await client.service.post({ id, name: 'Fir' })).status).toBe(200);
    for (const request of open) request.end();
    for (const request of open) await answerOf(request);
  });

  test('of JSON arrays are not dropped, however little memory single requests may hold', async () => {
    await start({}, {}, { heldBytes: 1000 });
    const open = [1, 2].map((id) => {
      const request = openImport('', { 'Content-Type': 'application/json' });
      request.write(`[{"id":${id},"name":"${'x'.repeat(40_000)}"}`);
      return request;
    });
    await waitUntil('two imports', () => client.service.inUse().imports === 2);
    for (const request of open.toReversed()) {
      request.end(']');
      expect(await answerOf(request)).toMatchObject({ status: 200, body: counts(1) });
    }
  });

  test('of the same rows store each row once', async () => {
    await start();
    const rows = numbered(1, 10_000);
    const queries = ['skip', 'skip', 'error', 'replace'].map((mode) => `?maxErrors=10000&onConflict=${mode}`);
    const other = await asOther();
    const answers = await Promise.all(
      queries.map((query, index) => importPlants(rows, { query, headers: index % 2 === 0 ? {} : other })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(answers.reduce((sum, { body }) => sum + body.created, 0)).toBe(10_000);
    expect(await count()).toBe(10_000);
  });
});

test('an import that PostgreSQL ends because of a deadlock is tried again', async () => {
  const { database } = client.service;
  await importPlants(numbered(1, 2));
  const other = new Client({ connectionString: database.url });
  await other.connect();
  try {
    // So PostgreSQL ends the import.
    await other.query("SET deadlock_timeout = '1h'; BEGIN; UPDATE plants SET name = 'Ash' WHERE id = 2");
    const importing = importPlants('{"id":1,"name":"Yew"}\n{"id":2,"name":"Yew"}\n', { query: '?onConflict=replace' });
    await waitForBlocked(database);
    await other.query("UPDATE plants SET tag = 'Fraxinus' WHERE id = 1");
    await other.query('COMMIT');
    expect(await importing).toMatchObject({ status: 200, body: counts(0, 2) });
  } finally {
    await other.end();
  }
  expect(await database.query('SELECT name, tag FROM plants')).toEqual(Array(2).fill({ name: 'Yew', tag: null }));
});

test('16 clients with single requests are served during an import', async () => {
  const importing = importPlants(numbered(1, 20_000));
  let isRunning = true;
  const end = () => {
    isRunning = false;
  };
  importing.then(end, end);
  let nextId = 100_000;
  const ids: number[] = [];
  const post = async () => {
    while (isRunning) {
      const id = nextId++;
      ids.push(id);
      const response = await fetch(`${client.service.baseUrl}/plants`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${client.service.token}`, 'Content-Type': 'application/json' },
        body: `{"id":${id},"name":"Yew"}`,
      });
      expect([response.status, await response.json()]).toEqual([200, { name: 'Yew' }]);
    }
  };
  await Promise.all(Array.from({ length: 16 }, post));
  expect(await importing).toMatchObject({ status: 200, body: counts(20_000) });
  expect(await count()).toBe(20_000 + ids.length);
  // Each client got several responses meanwhile.
  expect(ids.length).toBeGreaterThan(3 * 16);
});

testUnless(
  onCitus('its plan differs'),
  'pauses come between the rows that are stored: PostgreSQL does not sort after them',
  async () => {
    const session = new Client({ connectionString: client.service.database.url });
    await session.connect();
    await session.query(CREATE_STAGED_ROWS);
    const { rows } = await session.query(`EXPLAIN ${storeStatement(STAGED_ROWS.from, 'replace')}`, [1, 1_000_000]);
    await session.end();
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(/ Insert on plants (.*?)\bpg_sleep\(/s.exec(plan)?.[1]).toEqual(expect.not.stringContaining('Sort'));
  },
);
