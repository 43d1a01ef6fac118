import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createPool } from '../../src/database/database.ts';
import { socketOf } from '../../src/database/silence-timeout.ts';
import { createPoolStatements } from '../../src/database/statements.ts';
import { otherSessions } from '../support/other-sessions.ts';
import { succeeds } from '../support/succeeds.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase();

const create = (connections = 1, url = database.url) =>
  createPoolStatements({
    pool: createPool({ url, connections, connectTimeout: 5000, statementTimeout: 5000 }),
    onConnectionLost: () => {},
  });

const waitForTheEnd = () =>
  waitUntil('the end of its connection', async () => (await otherSessions(database)).length === 0);

test('closing closes connections that are being reserved, and no more are reserved', async () => {
  const statements = create();
  const reserving = statements.reserve();
  const closed = statements.close();
  await expect(reserving).rejects.toThrow('Connection terminated');
  await expect(statements.reserve()).rejects.toThrow('Connection terminated');
  await closed;
  await waitForTheEnd();
});

test('a reserved connection keeps temporary tables, and has none once it is reserved again', async () => {
  const statements = create();
  for (let times = 0; times < 2; times++) {
    const { query, release } = await statements.reserve();
    await query('CREATE TEMPORARY TABLE imported (id bigint)');
    await query('INSERT INTO pg_temp.imported VALUES (1)');
    expect(await query('SELECT id FROM pg_temp.imported')).toEqual([{ id: '1' }]);
    release();
  }
  await statements.close();
});

test('what used a connection and ends leaves it to the next', async () => {
  const statements = create();
  const backend = ({ query }: Pick<typeof statements, 'query'>) => query('SELECT pg_backend_pid() AS pid');
  const ending = new AbortController();
  const first = await backend(statements.until(ending.signal));
  ending.abort();
  const next = await backend(statements).finally(statements.close);
  expect(next).toEqual(first);
});

test('a statement that follows one whose connection PostgreSQL closes gets another connection', async () => {
  const statements = create();
  const failed = statements
    .query('SELECT pg_terminate_backend(pg_backend_pid())')
    .catch((error: Error) => error.message);
  expect(await failed).toContain('terminating connection');
  const next = await statements.query('SELECT 1 AS one').finally(statements.close);
  expect(next).toEqual([{ one: 1 }]);
});

test('through a pooler, a rejected statement leaves no transaction open', async () => {
  const statements = create(1, `${database.url}?pgbouncer=true`);
  await expect(statements.query('SELECT 1 / 0')).rejects.toThrow('division by zero');
  const [session] = await otherSessions(database);
  const state = await database.query('SELECT state FROM pg_stat_activity WHERE pid = $1', [session?.pid]);
  await statements.close();
  expect(state).toEqual([{ state: 'idle' }]);
});

test('a reserved connection may be silent between its statements, and not during one', async () => {
  const pool = createPool({ url: database.url, connections: 1, connectTimeout: 5000, statementTimeout: 5000 });
  const statements = createPoolStatements({ pool, onConnectionLost: () => {} });
  const timeouts: (number | undefined)[] = [];
  let note = () => {};
  pool.on('connect', (client) => {
    note = () => void timeouts.push(socketOf(client).timeout);
  });
  const { query, release } = await statements.reserve();
  note();
  const running = query('SELECT 1');
  note();
  await running;
  note();
  release();
  await statements.close();
  expect(timeouts).toEqual([0, 6250, 0]);
});

test('closing rejects the statement of a reserved connection', async () => {
  const statements = create();
  const { query, release } = await statements.reserve();
  const sleeping = query('SELECT pg_sleep(60)').finally(release);
  const closed = statements.close();
  await expect(sleeping).rejects.toThrow('Connection terminated');
  await closed;
  await waitForTheEnd();
});

test.each(['shared', 'reserved'])('a %s connection on which PostgreSQL falls silent is closed', async (kind) => {
  const { hostname, port } = new URL(database.url);
  const sockets: Socket[] = [];
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname);
    for (const socket of [client, server]) sockets.push(socket.on('error', () => {}));
    client.pipe(server).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const url = Object.assign(new URL(database.url), {
    hostname: '127.0.0.1',
    port: String((proxy.address() as AddressInfo).port),
  }).href;
  const pool = createPool({ url, connections: 1, connectTimeout: 5000, statementTimeout: 500 });
  const statements = createPoolStatements({ pool, onConnectionLost: () => {} });
  const take = async () => (kind === 'shared' ? { ...statements, release: () => {} } : await statements.reserve());
  let { query, release } = await take();
  // A busy machine may take longer than the time limit to open the connection.
  await waitUntil('a connection', async () => {
    if (await succeeds(query('SELECT 1'))) return true;
    release();
    ({ query, release } = await take());
    return false;
  });
  for (const socket of sockets) socket.unpipe().pause();
  const hangUp = () => {
    for (const socket of sockets) socket.destroy();
  };
  // Otherwise a statement that never ends would keep the test from closing what it opened.
  const patience = setTimeout(hangUp, 20_000);
  const outcome = await query('SELECT 2').catch((error: Error) => error.message);
  clearTimeout(patience);
  release();
  await statements.close();
  hangUp();
  proxy.close();
  expect(outcome).toContain('PostgreSQL did not respond in time');
});
