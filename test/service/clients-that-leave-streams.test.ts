import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { hashTokenText, SCOPES } from '../../src/tokens/token.ts';
import { type SentRequest, sendFromClient, waitUntilIdle } from '../support/leaving-client.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { PATIENT, useWatchedDatabase } from '../support/use-watched-database.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type WatchedPostgres, watchPostgres } from '../support/watched-postgres.ts';

const { own, postgres, lock, start } = useWatchedDatabase();
beforeEach(() => own.database.query('TRUNCATE plants'));

let service: TestService;
const send = (request: SentRequest, token = own.token) => sendFromClient(service, token, request);
const untilInUse = (name: string, count: number) =>
  waitUntil(`${count} in use: ${name}`, () => service.inUse()[name as 'exports'] === count, {
    explain: () => JSON.stringify(service.inUse()),
  });
const newToken = () => own.tokens.create({ name: newId(), scopes: SCOPES, expiresAt: null });

/** Ids that occur nowhere else, so that each statement for a request can be told by its id. */
let lastId = 9_000_000_000;
const newId = () => String(++lastId);
const countPlants = async () => Number((await own.database.query('SELECT count(*) FROM plants'))[0]?.count);
/** More than all buffers between PostgreSQL and a client hold. */
const insertMany = () =>
  own.database.query("INSERT INTO plants SELECT id, repeat('x', 10000) FROM generate_series(1, 3000) AS id");

describe('a client that leaves while its body is sent', () => {
  test('leaves its memory to others', async () => {
    service = await start();
    const [left, served] = [newId(), newId()];
    const body = `{"id":${left},"name":"${'x'.repeat(40_000)}"}`;
    const leaving = send({
      method: 'POST',
      path: '/plants',
      body: body.slice(0, -2),
      isOpen: true,
      headers: { 'Content-Length': String(body.length) },
    });
    await waitUntil('its body', () => service.inUse().bodyBytes > 40_000);
    await leaving.leave();
    await waitUntilIdle(service);
    expect(await send({ method: 'POST', path: '/plants', body: body.replace(left, served) }).status).toBe(200);
    expect(postgres.timesSent(left)).toBe(0);
    expect(await countPlants()).toBe(1);
  });
});

describe('a client that leaves while its response is sent', () => {
  test('holds no memory, and requests behind it on its connection are not made', async () => {
    service = await start();
    const [long, next] = [newId(), newId()];
    await own.database.query("INSERT INTO plants SELECT $1, repeat('x', 16000000)", [long]);
    const client = connect(Number(new URL(service.baseUrl).port), '127.0.0.1').on('error', () => {});
    await once(client, 'connect');
    client.pause();
    for (const id of [long, next])
      client.write(`GET /plants/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own.token}\r\n\r\n`);
    await waitUntil('its response', () => service.inUse().responseBytes > 16_000_000);
    await untilInUse('lingering', 1);
    client.resetAndDestroy();
    await waitUntilIdle(service);
    expect(await send({ method: 'GET', path: `/plants/${newId()}` }).status).toBe(404);
    expect(postgres.timesSent(next)).toBe(0);
  });
});

describe('a client that leaves during its import', () => {
  const NDJSON = 'application/x-ndjson';
  const sendImport = (query: string, type: string, body: string) =>
    send({ method: 'POST', path: `/plants/import${query}`, headers: { 'Content-Type': type }, body });
  const rowsTo = (lastId: string, count: number, toRow = (id: number | string) => `{"id":${id},"name":"Fir"}`) => [
    ...Array.from({ length: count - 1 }, (_, index) => toRow(index)),
    toRow(lastId),
  ];
  const lines = (id: string, count: number) => `${rowsTo(id, count).join('\n')}\n`;
  const csv = (id: string, count: number) => `id,name\n${rowsTo(id, count, (each) => `${each},Fir`).join('\n')}\n`;

  beforeAll(async () => {
    service = await startTestService(PATIENT, { databaseUrl: postgres.url });
  });
  afterAll(() => service.stop());

  test.each([
    ['NDJSON', '', NDJSON, lines],
    ['CSV', '', 'text/csv', csv],
    ['JSON', '', 'application/json', (id: string, count: number) => `[${rowsTo(id, count)}]`],
    ['rows that replace', '?onConflict=replace', NDJSON, lines],
    ['a dry run', '?dryRun=true', NDJSON, lines],
    ['all or none', '?atomic=true', NDJSON, lines],
  ])('gets nothing stored: %s', async (_title, query, type, write) => {
    for (const count of [10, 6001]) {
      const unlock = await lock('plants');
      const client = sendImport(query, type, write(newId(), count));
      await waitForBlocked(own.database, 'plants');
      await client.leave();
      await waitUntilIdle(service);
      await unlock();
      expect(await countPlants()).toBe(0);
      expect(service.log.findLast(({ msg }) => msg === 'import ended')).toMatchObject({ outcome: 'interrupted' });
    }
  });
});

describe('an export', () => {
  /** Only for exports. */
  let sessions: WatchedPostgres;
  beforeEach(async () => {
    sessions = await watchPostgres(own.database.url);
    const urls = { DATABASE_URL: postgres.url, DIRECT_URL: sessions.url };
    service = await start({ connectTimeout: 4000 }, urls);
  });
  afterEach(() => sessions.close());
  const untilEnded = async () => {
    await waitUntilIdle(service);
    await waitUntil('the end of its session', () => sessions.connections() === 0);
  };

  test('ends with its client, although its statement waits for a lock', async () => {
    await lock('plants');
    const client = send({ method: 'GET', path: '/plants/export' });
    await waitForBlocked(own.database, 'plants');
    await client.leave();
    await untilEnded();
  });

  test.each(['ndjson', 'csv'])('ends with its client, while plants are sent as %s', async (format) => {
    await insertMany();
    const client = send({ method: 'GET', path: `/plants/export?format=${format}`, isUnread: true });
    await once(client.request, 'response');
    expect(sessions.connections()).toBe(1);
    await client.leave();
    await untilEnded();
  });

  test('ends soon if its session falls silent at once, whether its client leaves or not', async () => {
    sessions.silence();
    const leaving = send({ method: 'GET', path: '/plants/export' });
    const staying = send({ method: 'GET', path: '/plants/export' }, await newToken());
    await waitUntil('their sessions', () => sessions.timesSent('BEGIN') === 2);
    await leaving.leave();
    expect(await staying.status).toBe(503);
    await untilEnded();
    // Less than silence may take later.
  }, 60_000);
});

test('a token is not looked up again once the stream of its request has ended', async () => {
  service = await start({ tokenCheckInterval: 20 });
  await insertMany();
  const tokens = [await newToken(), await newToken(), await newToken()] as const;
  const lookUps = (token: string) =>
    postgres.timesSent(Buffer.from(hashTokenText(token), 'hex').toString('latin1')) +
    postgres.timesSent(hashTokenText(token));
  const headers = { 'Content-Type': 'application/x-ndjson' };
  const importOf = (token: string) =>
    send({ method: 'POST', path: '/plants/import', headers, body: '{"id":1,"name":"Fir"}\n', isOpen: true }, token);
  const exporting = send({ method: 'GET', path: '/plants/export', isUnread: true }, tokens[0]);
  const [importing, staying] = [importOf(tokens[1]), importOf(tokens[2])];
  await waitUntil('look-ups', () => tokens.every((token) => lookUps(token) > 3));
  await Promise.all([exporting.leave(), importing.leave()]);
  // Those that were on their way.
  await waitUntil('the look-ups in progress', () => service.inUse().queued + service.inUse().sent === 0);
  const [left, stayed] = [tokens.slice(0, 2).map(lookUps), lookUps(tokens[2])];
  await waitUntil('more look-ups', () => lookUps(tokens[2]) > stayed + 5);
  expect(tokens.slice(0, 2).map(lookUps)).toEqual(left);
  staying.request.end();
  expect(await staying.status).toBe(200);
});
