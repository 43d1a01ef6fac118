import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { SCOPES } from '../../src/tokens/token.ts';
import { createTcpProxy, type TcpProxy } from '../faults/tcp-proxy.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { blockedStatements, waitForBlocked } from '../support/lock-table.ts';
import { describeUnless, isOnCitus, onCitus } from '../support/skip.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase();
let proxy: TcpProxy;
let service: TestService;
let token: string;
/** The connections of the service to its database. */
const sockets = new Set<Socket>();
const onSocket = (message: unknown) => {
  const { socket } = message as { socket: Socket };
  socket.once('connect', () => {
    if (String(socket.remotePort) === new URL(proxy.through(database.url)).port) sockets.add(socket);
  });
  socket.once('close', () => sockets.delete(socket));
};

beforeAll(async () => {
  subscribe('net.client.socket', onSocket);
  const { hostname, port } = new URL(database.url);
  proxy = await createTcpProxy(Number(port), hostname);
  service = await startTestService({ REQUEST_TIMEOUT: '60' }, { databaseUrl: proxy.through(database.url) });
  token = await service.tokens.create({ name: 'test', scopes: SCOPES, expiresAt: null });
});
afterAll(async () => {
  await service.stop();
  proxy.close();
  unsubscribe('net.client.socket', onSocket);
});

let unlock = async () => {};
afterEach(async () => {
  await unlock();
  await database.query('TRUNCATE plants');
});

type Answer = { status: number; error: number | undefined; message: string };

const send = async (method: string, path: string, body?: unknown, more: object = {}): Promise<Answer> => {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...more };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(service.baseUrl + path, { method, headers, body: text });
  const { error, message = '' } = JSON.parse((await response.text()) || '{}');
  return { status: response.status, error, message };
};

const NDJSON = { 'Content-Type': 'application/x-ndjson' };
const key = () => ({ 'Idempotency-Key': crypto.randomUUID() });
const importOne = (query: string) => send('POST', `/plants/import${query}`, '{"id":1,"name":"Fir"}\n', NDJSON);

const changes: [string, () => Promise<Answer>][] = [
  ['POST', () => send('POST', '/plants', { id: 1, name: 'Fir' })],
  ['PUT', () => send('PUT', '/plants/1', { name: 'Fir' })],
  ['PATCH', () => send('PATCH', '/plants/1', { name: 'Fir' })],
  ['DELETE', () => send('DELETE', '/plants/1')],
];
const keyedChanges: typeof changes = [
  ['POST with a key', () => send('POST', '/plants', { id: 1, name: 'Fir' }, key())],
  ['PUT with a key', () => send('PUT', '/plants/1', { name: 'Fir' }, key())],
  ['DELETE with a key', () => send('DELETE', '/plants/1', undefined, key())],
];
const imports: typeof changes = [
  ['import', () => importOne('')],
  ['import that replaces', () => importOne('?onConflict=replace')],
  ['atomic import', () => importOne('?atomic=true')],
];

/** Sends the request, which waits for a lock, and lets `fail` break or end its statement. */
const failWhileBlocked = async (request: () => Promise<Answer>, fail: () => unknown): Promise<Answer> => {
  unlock = await lockPlants(database.url);
  const answer = request();
  await waitForBlocked(database);
  await fail();
  return answer;
};

const breakConnections = (code: string) => () => {
  for (const socket of sockets) socket.destroy(Object.assign(new Error(`read ${code}`), { code, syscall: 'read' }));
};
const cancel = () =>
  database.query(
    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );

describe('a connection that breaks during a write: 503, code 1501, and an unknown outcome', () => {
  const CODES = ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EPROTO', 'ECONNRESET'];
  const TLS = 'ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC';

  test.each([...CODES, TLS])('%s during a POST, whose plant is then stored', async (code) => {
    const answer = await failWhileBlocked(
      () => send('POST', '/plants', { id: 1, name: 'Fir' }),
      breakConnections(code),
    );
    expect(answer).toEqual({ status: 503, error: 1501, message: expect.stringContaining('The outcome is unknown.') });
    expect(service.log.at(-1)).toMatchObject({ level: 'error', error: 1501 });
    await unlock();
    // PostgreSQL has not noticed that its client is gone.
    await waitUntil('the plant', async () => (await database.query('SELECT FROM plants')).length === 1);
  });

  test.each([...changes, ...(isOnCitus ? [] : keyedChanges)])('%s', async (_name, request) => {
    for (const code of ['ETIMEDOUT', 'EHOSTUNREACH', 'EPROTO']) {
      const answer = await failWhileBlocked(request, breakConnections(code));
      expect(answer).toMatchObject({ status: 503, error: 1501 });
      expect(answer.message).toContain('The outcome is unknown.');
      await unlock();
    }
  });

  test('POSTs that share statements', async () => {
    // A token that was just looked up is not looked up again for 4 s. The error of a lookup that fails has another message.
    token = await service.tokens.create({ name: crypto.randomUUID(), scopes: SCOPES, expiresAt: null });
    await send('GET', '/plants/1');
    unlock = await lockPlants(database.url);
    const answers = Array.from({ length: 20 }, (_, id) => send('POST', '/plants', { id, name: 'Fir' }));
    await waitUntil('a statement', async () => (await blockedStatements(database)).length >= 1);
    breakConnections('EHOSTUNREACH')();
    await unlock();
    // Those that were not sent are stored.
    const failures = (await Promise.all(answers)).filter(({ status }) => status !== 200);
    expect(failures.map(({ message }) => message)).toContainEqual(expect.stringContaining('The outcome is unknown.'));
    // A connection that was being opened has sent nothing.
    for (const { error, message } of failures)
      expect([error, message]).toEqual([1501, expect.stringMatching(/The outcome is unknown\.|nothing was changed\./)]);
  });

  test.each(imports)('%s, before its commit: nothing is stored', async (_name, request) => {
    for (const code of ['ETIMEDOUT', 'EHOSTUNREACH', 'EPROTO']) {
      const answer = await failWhileBlocked(request, breakConnections(code));
      expect(answer).toMatchObject({ status: 503, error: 1501 });
      expect(answer.message).toBe('The database connection was lost. Nothing is stored. Repeat the import.');
      await unlock();
    }
    expect(await database.query('SELECT FROM plants')).toEqual([]);
  });

  test('a GET promises nothing', async () => {
    const answer = await failWhileBlocked(() => send('GET', '/plants/1'), breakConnections('EHOSTUNREACH'));
    expect(answer).toEqual({
      status: 503,
      error: 1501,
      message: 'The database cannot be reached. Try again later.',
    });
  });
});

const noCancel = onCitus('a worker may have committed what the coordinator cancels');

describeUnless(noCancel, 'a statement that PostgreSQL cancels: 503, code 1500, and nothing was changed', () => {
  const reads: typeof changes = [
    ['GET', () => send('GET', '/plants/1')],
    ['list', () => send('GET', '/plants')],
  ];

  test.each([...changes, ...keyedChanges, ...reads])('%s', async (_name, request) => {
    expect(await failWhileBlocked(request, cancel)).toEqual({
      status: 503,
      error: 1500,
      message: 'The statement took too long and was cancelled; nothing was changed. Try again later.',
    });
    const line = service.log.at(-1);
    expect([line?.level, line?.err]).toEqual(['warn', undefined]);
    await unlock();
    expect(await database.query('SELECT FROM plants')).toEqual([]);
  });

  test.each(imports)('%s', async (_name, request) => {
    const { status, error, message } = await failWhileBlocked(request, cancel);
    expect([status, error]).toEqual([503, 1500]);
    expect(message).toMatch(/^The database cancelled the statement\. Nothing is stored\. Repeat the import\.$/);
    await unlock();
    expect(await database.query('SELECT FROM plants')).toEqual([]);
  });
});
