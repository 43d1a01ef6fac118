import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { OutcomeUnknownError } from '../../../src/database/database-error.ts';
import { createImportSessions, type ImportSession } from '../../../src/imports/import-session.ts';
import { COPY_STAGED_ROWS, CREATE_STAGED_ROWS } from '../../../src/imports/import-statements.ts';
import { lockTable, waitForBlocked } from '../../support/lock-table.ts';
import { otherSessions } from '../../support/other-sessions.ts';
import { useTestDatabase } from '../../support/use-test-database.ts';
import { waitUntil } from '../../support/wait-until.ts';

const database = useTestDatabase();
const proxies: (() => void)[] = [];
const opened: { close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const sessions of opened.splice(0)) await sessions.close();
  for (const stop of proxies.splice(0)) stop();
});

const create = ({ url = database.url, grace = 20_000, count = 1, quickTimeout = 5000 } = {}) => {
  const limits = { connectTimeout: 5000, lockTimeout: 5000, grace, count, quickTimeout };
  const sessions = createImportSessions({ url, ...limits, onConnectionLost: () => {} });
  opened.push(sessions);
  return sessions;
};

/** A proxy in front of PostgreSQL, which hands nothing on once `freeze` is called. `onBytes`: gets what a client sends. */
const startProxy = async (onBytes: (bytes: Buffer, freeze: () => void) => unknown = () => {}) => {
  const { hostname, port } = new URL(database.url);
  const sockets: Socket[] = [];
  const freeze = () => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname);
    for (const socket of [client, server]) sockets.push(socket.on('error', () => {}));
    client.on('data', (bytes: Buffer) => onBytes(bytes, freeze));
    client.pipe(server).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  proxies.push(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const address = { hostname: '127.0.0.1', port: String((proxy.address() as AddressInfo).port) };
  return { url: Object.assign(new URL(database.url), address).href, freeze };
};

const idle = () => waitUntil('no session', async () => (await otherSessions(database)).length === 0);
const settled = (result: Promise<unknown>) =>
  result.then(
    () => 'done',
    (error: Error) => error.message,
  );

describe('the session of an import', () => {
  test('is closed at its end, and its temporary table with it, unless it is given back', async () => {
    const sessions = create();
    const pids: unknown[] = [];
    for (const isReusable of [true, false, true]) {
      const session = await sessions.open(new AbortController());
      pids.push((await session.query('SELECT pg_backend_pid()')).rows[0]);
      await session.query('CREATE TEMPORARY TABLE IF NOT EXISTS import_rows (id bigint)');
      session.release({ isReusable });
    }
    expect([pids[0], pids[1] === pids[2]]).toEqual([pids[1], false]);
    expect(sessions.inUse()).toBe(0);
  });

  test('keeps nothing of the imports that had it before', async () => {
    const sessions = create();
    const pids = new Set<unknown>();
    const endings: AbortController[] = [];
    // More than Node.js warns of if each leaves a listener.
    for (let count = 0; count < 12; count++) {
      const ending = new AbortController();
      endings.push(ending);
      const session = await sessions.open(ending);
      const { rows } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      pids.add(rows[0]?.pid);
      session.release({ isReusable: true });
    }
    expect(pids.size).toBe(1);
    await database.query('SELECT pg_terminate_backend($1::int)', [...pids]);
    await idle();
    expect(endings.filter(({ signal }) => signal.aborted)).toEqual([]);
  });

  test('that is ended between statements is not given back either', async () => {
    const sessions = create();
    const ending = new AbortController();
    const pidOf = async (session: ImportSession) => (await session.query('SELECT pg_backend_pid()')).rows[0];
    const first = await sessions.open(ending);
    const before = await pidOf(first);
    ending.abort(new Error('enough'));
    first.release({ isReusable: true });
    const next = await sessions.open(new AbortController());
    expect(await pidOf(next)).not.toEqual(before);
    next.release({ isReusable: true });
  });

  test('that is ended cancels its statement, and is not given back', async () => {
    const sessions = create();
    const ending = new AbortController();
    const session = await sessions.open(ending);
    const sleeping = settled(session.query('SELECT pg_sleep(60)'));
    await waitUntil('the statement', async () => (await otherSessions(database)).length === 1);
    ending.abort(new Error('enough'));
    expect(await sleeping).toMatch(/canceling statement due to user request/);
    await expect(session.query('SELECT 1')).rejects.toThrow('enough');
    session.release({ isReusable: true });
    await idle();
  });

  test.each([
    ['goes on', 20_000],
    ['is given up after the grace, and its outcome is unknown', 200],
  ])('whose commit waits while it is ended %s', async (_what, grace) => {
    const ending = new AbortController();
    const session = await create({ grace }).open(ending);
    await session.query(`
      CREATE TABLE IF NOT EXISTS gate ();
      CREATE OR REPLACE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM FROM gate; RETURN NULL; END $$;
      CREATE TABLE committed_${grace} (id bigint);
      CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON committed_${grace} DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait()`);
    await session.query(`BEGIN; INSERT INTO committed_${grace} VALUES (1)`);
    const unlock = await lockTable(database.url, 'gate');
    const committing = session.commit().catch((error: unknown) => error);
    await waitForBlocked(database, 'COMMIT');
    ending.abort(new Error('too late'));
    const isGivenUp = grace === 200;
    if (isGivenUp) expect(await committing).toBeInstanceOf(OutcomeUnknownError);
    await unlock();
    if (!isGivenUp) expect(await committing).toBeUndefined();
    session.release({ isReusable: false });
    await idle();
    // It ended while PostgreSQL committed, or noticed that the connection was closed.
    const expected = isGivenUp ? /[01]/ : /1/;
    const [stored] = await database.query(`SELECT count(*) FROM committed_${grace}`);
    expect(stored?.count).toMatch(expected);
  });

  test('whose commit fails can be ended again, because the transaction may be tried again', async () => {
    const ending = new AbortController();
    const session = await create().open(ending);
    await session.query(`
      CREATE TABLE conflicting (id bigint);
      CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'serialization_failure'; END $$;
      CREATE CONSTRAINT TRIGGER conflict AFTER INSERT ON conflicting DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION conflict();`);
    await session.query('BEGIN; INSERT INTO conflicting VALUES (1)');
    await expect(session.commit()).rejects.toThrow();
    const sleeping = settled(session.query('SELECT pg_sleep(60)'));
    ending.abort(new Error('enough'));
    expect(await sleeping).toMatch(/canceling statement due to user request/);
    session.release({ isReusable: true });
  });

  test('whose connection is lost ends the import, even between statements', async () => {
    const sessions = create();
    const ending = new AbortController();
    const session = await sessions.open(ending);
    const { rows } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await database.query('SELECT pg_terminate_backend($1::int)', [rows[0]?.pid]);
    await waitUntil('the end', async () => ending.signal.aborted);
    expect(ending.signal.reason.message).toMatch(/terminat/);
    await expect(session.commit()).rejects.not.toBeInstanceOf(OutcomeUnknownError);
    session.release({ isReusable: true });
  });

  test('of a PostgreSQL that does not respond is closed after the grace', async () => {
    const { url, freeze } = await startProxy();
    const sessions = create({ url, grace: 200 });
    const ending = new AbortController();
    const session = await sessions.open(ending);
    freeze();
    const waiting = settled(session.query('SELECT 1'));
    ending.abort(new Error('enough'));
    expect(await waiting).toContain('Connection terminated');
    session.release({ isReusable: false });
  });

  test.each([
    ['the first statement', async () => {}, (session: ImportSession) => session.query('BEGIN')],
    [
      'a COPY',
      (session: ImportSession) => session.query(CREATE_STAGED_ROWS),
      (session: ImportSession) => session.copy(COPY_STAGED_ROWS, [{ line: 1, plant: { id: 1n, name: 'Fir' } }]),
    ],
  ])('of a PostgreSQL that hangs is closed: %s', async (_what, prepare, send) => {
    const { url, freeze } = await startProxy();
    const ending = new AbortController();
    const session = await create({ url, quickTimeout: 1500 }).open(ending);
    await prepare(session);
    freeze();
    expect(await settled(send(session))).toContain('did not respond in time');
    expect(ending.signal.reason.message).toContain('did not respond in time');
    session.release({ isReusable: true });
  });

  test('may take its time for other statements', async () => {
    const session = await create({ quickTimeout: 1500 }).open(new AbortController());
    await session.query('BEGIN');
    expect(await settled(session.query('SELECT pg_sleep(3)'))).toBe('done');
    session.release({ isReusable: true });
  });

  test('may wait for its client longer than a quick statement may take', async () => {
    const session = await create({ quickTimeout: 1000 }).open(new AbortController());
    await session.query(CREATE_STAGED_ROWS);
    await session.copy(COPY_STAGED_ROWS, [{ line: 1, plant: { id: 1n, name: 'Fir' } }]);
    await setTimeout(2000);
    expect(await settled(session.query('SELECT'))).toBe('done');
    session.release({ isReusable: false });
  });

  test('that is ended before its connection is open sends no statement', async () => {
    const { url } = await startProxy((bytes, freeze) => bytes.includes('client_connection_check_interval') && freeze());
    const sessions = create({ url, grace: 200 });
    const ending = new AbortController();
    let outcome: string | undefined;
    settled(sessions.open(ending)).then((message) => {
      outcome = message;
    });
    ending.abort(new Error('enough'));
    await waitUntil('the end', async () => outcome !== undefined);
    expect([outcome, sessions.inUse()]).toEqual(['enough', 0]);
  });
});

test('closing ends sessions in use and those that are being opened', async () => {
  const sessions = create({ count: 2 });
  const session = await sessions.open(new AbortController());
  const sleeping = settled(session.query('SELECT pg_sleep(60)'));
  const opening = settled(sessions.open(new AbortController()));
  const closed = sessions.close();
  expect(await sleeping).toContain('Connection terminated');
  session.release({ isReusable: false });
  expect(await opening).toContain('Connection terminated');
  await closed;
  await idle();
});

test('through a pooler there are no sessions', () => {
  const pooled = create({ url: `${database.url.split('?')[0]}?pgbouncer=true` });
  expect(() => pooled.assertSessions()).toThrow('Imports need DIRECT_URL');
  expect(() => create().assertSessions()).not.toThrow();
});
