import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { openRowStream } from '../../src/database/row-stream.ts';
import { openExport } from '../../src/exports/export-plants.ts';
import type { PlantFilter } from '../../src/plants/plant.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import { otherSessions } from '../support/other-sessions.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

jest.setTimeout(30_000);

/** Less than a quarter more, in ms, ends a stream whose statement sends nothing. */
const SILENCE = 800;

const database = useTestDatabase();
const options = (silenceTimeout = 60_000) => ({
  url: database.url,
  connectTimeout: 5000,
  silenceTimeout,
  clientCheckInterval: 100,
});
const NAMES = 'SELECT name FROM plants ORDER BY id';
const open = ({
  text = NAMES,
  silenceTimeout = 60_000,
  signal = new AbortController().signal,
  onRow = () => {},
} = {}) =>
  openRowStream<[string]>(options(silenceTimeout), {
    sql: { text, values: [] },
    maySort: false,
    head: '',
    write: ([name]) => {
      onRow();
      return `${name}\n`;
    },
    signal,
  });
const backends = async () => (await otherSessions(database)).length;

const insert = (count: number, bytes: number) =>
  database.query(`INSERT INTO plants SELECT id, repeat('x', ${bytes}) FROM generate_series(1, ${count}) AS id`);

let unlock = async () => {};
const lock = async () => {
  unlock = await lockPlants(database.url);
};

beforeEach(() => database.query('TRUNCATE plants'));
// Also after a failure, because the next test truncates the table.
afterEach(async () => {
  await unlock();
  unlock = async () => {};
  await database.query(`ALTER DATABASE ${database.name} RESET ALL`);
});

describe('a stream of rows', () => {
  test('is in pieces of at most 16 KiB, however long a row is', async () => {
    await insert(3, 1_000_000);
    const pieces: Buffer[] = await (await open()).toArray();
    expect(Buffer.concat(pieces).toString()).toBe(`${'x'.repeat(1_000_000)}\n`.repeat(3));
    expect(Math.max(...pieces.map(({ length }) => length))).toBe(16_384);
  });

  test('reads no further than its reader, who may pause for longer than the silence timeout', async () => {
    await insert(3000, 10_000);
    let rows = 0;
    const stream = await open({
      silenceTimeout: SILENCE,
      onRow: () => {
        rows += 1;
      },
    });
    await setTimeout(2 * SILENCE);
    const ahead = rows;
    expect(ahead).toBeLessThan(100);
    await setTimeout(100);
    expect(rows).toBe(ahead);
    expect(Buffer.concat(await stream.toArray())).toHaveLength(3000 * 10_001);
    expect(rows).toBe(3000);
  });

  test('fails if PostgreSQL stops sending after its reader has paused', async () => {
    const hangs = "CASE WHEN i = 3000 THEN pg_sleep(60)::text ELSE repeat('x', 10000) END";
    const text = `SELECT ${hangs} FROM generate_series(1, 3000) AS i`;
    const stream = await open({ text, silenceTimeout: SILENCE });
    await setTimeout(100);
    await expect(stream.toArray()).rejects.toThrow('PostgreSQL did not respond in time');
  });

  test('does not end at the statement timeout of the database', async () => {
    await insert(3000, 10_000);
    await database.query(`ALTER DATABASE ${database.name} SET statement_timeout = 400`);
    const stream = await open();
    await setTimeout(600);
    expect(Buffer.concat(await stream.toArray())).toHaveLength(3000 * 10_001);
  });

  testUnless(
    onCitus('PostgreSQL is older than 17'),
    'does not end at a transaction_timeout of the database',
    async () => {
      await insert(3000, 10_000);
      await database.query(`ALTER DATABASE ${database.name} SET transaction_timeout = 300`);
      const stream = await open();
      await waitUntil('the timeout to pass', async () => {
        const [session] = await database.query(`SELECT now() - xact_start > '1 s' AS passed FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'SELECT name FROM plants%'`);
        return session === undefined || session.passed === true;
      });
      expect(Buffer.concat(await stream.toArray())).toHaveLength(3000 * 10_001);
    },
  );

  test('ends its statement when it is destroyed', async () => {
    await insert(3000, 10_000);
    (await open()).destroy();
    await waitUntil('its end', async () => (await backends()) === 0);
  });

  test('ends its statement when it is aborted before the first row', async () => {
    await lock();
    const controller = new AbortController();
    const stream = open({ signal: controller.signal });
    const failed = expect(stream).rejects.toMatchObject({ name: 'AbortError' });
    await waitForBlocked(database, 'SELECT name');
    controller.abort();
    await failed;
    // Only the connection that holds the lock is left.
    await waitUntil('its end', async () => (await backends()) === 1);
  });
});

const openPlants = (filter: PlantFilter = {}, signal = new AbortController().signal) =>
  openExport(options(SILENCE), { format: 'csv', filter, onRows: () => {}, signal });

describe('the session of an export ends', () => {
  const breakLoop = async (stream: Readable) => {
    for await (const _piece of stream) break;
  };
  const loseConnection = async (stream: Readable) => {
    for (const { pid } of await otherSessions(database))
      await database.query('SELECT pg_terminate_backend($1::int)', [pid]);
    await expect(stream.toArray()).rejects.toThrow(/terminat/);
  };
  test.each<[string, (stream: Readable, abort: () => void) => unknown]>([
    ['it is read to its end', (stream) => stream.toArray()],
    ['the loop that reads it ends early', breakLoop],
    ['it is destroyed unread', (stream) => stream.destroy()],
    ['it is aborted', (_stream, abort) => abort()],
    ['its connection is lost', loseConnection],
  ])('because %s', async (_title, close) => {
    await insert(3000, 10_000);
    const controller = new AbortController();
    const stream = await openPlants({}, controller.signal);
    expect(await backends()).toBe(1);
    await close(stream, () => controller.abort());
    await waitUntil('the end of its session', async () => (await backends()) === 0);
  });
});

describe('an export whose first plant takes too long', () => {
  test.each([
    [{ q: 'Fir' }, { kind: 'searchTooSlow' }],
    [{ tag: 'Abies' }, { kind: 'searchTooSlow' }],
    [{}, { name: 'SilenceError' }],
  ])('with the filter %j fails with %j', async (filter, failure) => {
    await lock();
    await expect(openPlants(filter)).rejects.toMatchObject(failure);
  });
});

describe('a server that opens a session', () => {
  // Messages of PostgreSQL's protocol (manual §54.7).
  const READY = Buffer.from('5a0000000549', 'hex');
  const AUTHENTICATED = Buffer.concat([Buffer.from('520000000800000000', 'hex'), READY]);
  const FAILED = Buffer.concat([Buffer.from('4500000017534552524f5200433432503031004d6e6f0000', 'hex'), READY]);
  const QUERY = 0x51;
  /** @param answer to each statement; by default none */
  const startServer = async (stack: AsyncDisposableStack, answer = Buffer.alloc(0)) => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.write(AUTHENTICATED);
        socket.on('data', ([type]: Buffer) => type === QUERY && socket.write(answer));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    stack.defer(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return { sockets, url: `postgresql://user@127.0.0.1:${(server.address() as AddressInfo).port}/plants` };
  };
  const openAt = (url: string, connectTimeout: number) =>
    openRowStream(
      { url, connectTimeout },
      {
        sql: { text: NAMES, values: [] },
        maySort: false,
        head: '',
        write: () => '',
        signal: new AbortController().signal,
      },
    );

  test('and then says nothing, does not hold up the stream', async () => {
    await using stack = new AsyncDisposableStack();
    const { url } = await startServer(stack);
    await expect(openAt(url, 400)).rejects.toMatchObject({ name: 'SilenceError' });
  });

  test('and refuses the settings of the stream, loses it', async () => {
    await using stack = new AsyncDisposableStack();
    const { url, sockets } = await startServer(stack, FAILED);
    // Its silence would end it only much later.
    await expect(openAt(url, 600_000)).rejects.toThrow('no');
    await waitUntil('the end of the session', () => sockets.every(({ readableEnded }) => readableEnded));
    expect(sockets).toHaveLength(1);
  });
});
