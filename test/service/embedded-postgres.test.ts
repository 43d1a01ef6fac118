import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { Client } from 'pg';
import { findServer, loadBinaries } from '../../src/embedded-postgres/cluster.ts';
import { leaseEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { findServerAccount } from '../../src/embedded-postgres/server-account.ts';
import { query } from '../support/postgres-server.ts';
import { makeDataFolder, removeDataFolder } from '../support/temporary-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

// One for all tests, since initdb takes a second.
let folder: string;
beforeAll(() => {
  folder = makeDataFolder();
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => removeDataFolder(folder));

const lease = () => leaseEmbeddedPostgres(folder);
const running = () => {
  const directory = join(folder, 'postgres');
  return findServer(directory, findServerAccount(directory));
};

test('a stop closes the connections of others, such as psql', async () => {
  const { url, release } = await lease();
  const other = new Client({ connectionString: url });
  let isClosed = false;
  other
    .on('error', () => {})
    .on('end', () => {
      isClosed = true;
    });
  await other.connect();
  try {
    const released = release();
    await waitUntil('the end of the connection', () => isClosed);
    await released;
  } finally {
    await other.end();
  }
  expect(running()).toBeUndefined();
});

test('a release tries again if another process that ends holds the lock, so that PostgreSQL stops', async () => {
  const { release } = await lease();
  const other = new DatabaseSync(join(folder, 'postgres.lock'));
  other.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  const released = release();
  other.close();
  await released;
  expect(running()).toBeUndefined();
});

test('a command that waits while a store holds a PostgreSQL that has crashed starts it once the store has ended', async () => {
  const store = await lease();
  process.kill(Number(running()?.pid), 'SIGQUIT');
  await waitUntil('its end', () => running() === undefined);
  const waiting = lease();
  // Meanwhile the command finds no server to share.
  await expect(query(store.url, 'SELECT')).rejects.toThrow('ECONNREFUSED');
  await store.release();
  const { url, release } = await waiting;
  expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await release();
});

test('what an interrupted initdb left is removed, and a new data directory created', async () => {
  using stack = new DisposableStack();
  const other = makeDataFolder();
  stack.defer(() => removeDataFolder(other));
  mkdirSync(join(other, 'postgres.new-1'));
  writeFileSync(join(other, 'postgres.new-1', 'PG_VERSION'), '18\n');
  await (await leaseEmbeddedPostgres(other)).release();
  expect(readdirSync(other).filter((name) => name.startsWith('postgres.new'))).toEqual([]);
});

test('a data directory without its password: the message says what to restore, and no server is started', async () => {
  await (await lease()).release();
  using stack = new DisposableStack();
  const password = join(folder, 'postgres-password');
  renameSync(password, `${password}.kept`);
  stack.defer(() => renameSync(`${password}.kept`, password));
  const message = /^The password .* is missing: restore the file .*postgres-password from a backup/;
  await expect(lease()).rejects.toThrow(message);
  expect(running()).toBeUndefined();
});

test('a package of PostgreSQL that is missing: the message says how to install it', async () => {
  using stack = new DisposableStack();
  const arch = Object.getOwnPropertyDescriptor(process, 'arch') ?? {};
  stack.defer(() => Object.defineProperty(process, 'arch', arch));
  Object.defineProperty(process, 'arch', { ...arch, value: 'abacus' });
  await expect(loadBinaries()).rejects.toThrow(
    /-abacus is missing\. In a clone .*, delete node_modules and start again/,
  );
});

test('the cache is at most an eighth of the memory that a container may use', async () => {
  jest.spyOn(process, 'constrainedMemory').mockReturnValue(1536 * 2 ** 20);
  const { url, release } = await lease();
  expect(await query(url, 'SHOW shared_buffers')).toEqual([{ shared_buffers: '192MB' }]);
  await release();
});
