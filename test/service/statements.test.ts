import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createPool } from '../../src/database/database.ts';
import { createPoolStatements } from '../../src/database/statements.ts';
import { otherSessions } from '../support/other-sessions.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase();

const create = (connections = 1) =>
  createPoolStatements({
    pool: createPool({ url: database.url, connections, connectTimeout: 5000, statementTimeout: 5000 }),
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
  const { query, release } = kind === 'shared' ? { ...statements, release: () => {} } : await statements.reserve();
  await query('SELECT 1');
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
