import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Client } from 'pg';
import { blockedStatements, waitForBlocked } from '../support/lock-table.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { shippedLocks, type TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const start = useTestServices();
let service: TestService;
let foreign: Client;
beforeEach(async () => {
  // A request that another one holds up until a timeout fails this test instead of being slow.
  service = await start({ DATABASE_CONNECTIONS: '8', REQUEST_TIMEOUT: '3600' }, { requestLimits: shippedLocks });
  await service.database.query("INSERT INTO plants SELECT i, 'Fir' FROM generate_series(1, 100) i");
  foreign = new Client({ connectionString: service.database.url });
  // A failed test drops the database.
  foreign.on('error', () => {});
  await foreign.connect();
  // Somebody's transaction: psql, a backfill, another program.
  await foreign.query('BEGIN');
  await foreign.query("INSERT INTO plants VALUES (1000, 'Yew')");
  await foreign.query("UPDATE plants SET name = 'Yew' WHERE id = 1");
});
afterEach(() => foreign.end());

const put = (id: number) => service.request('put', `/plants/${id}`).send({ name: 'Oak' });

/** Requests for the locked plants, of which some share their batches with others. */
const sendBlocked = () =>
  Array.from({ length: 30 }, (_, index) => [
    service.post({ id: 1000, name: 'Ash' }).then(({ status }) => status),
    service.post({ id: 2000 + index, name: 'Ash' }).then(({ status }) => status),
    put(1).then(({ status }) => status),
  ]);

test('requests for plants that another transaction locks hold up no others, and end with it', async () => {
  const blocked = sendBlocked();
  await waitForBlocked(service.database);
  for (let id = 3000; id < 3020; id++) {
    const others = await Promise.all([
      service.post({ id, name: 'Elm' }),
      put(2),
      service.request('delete', `/plants/${id - 2950}`),
    ]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 204]);
  }
  await foreign.query('COMMIT');
  const outcomes = await Promise.all(blocked.map((statuses) => Promise.all(statuses)));
  expect(new Set(outcomes.map(String))).toEqual(new Set(['400,200,200']));
});

test('a plant that is locked later does not hold up those that share its statement', async () => {
  const blocked = Array.from({ length: 60 }, () => put(1).then(({ status }) => status));
  await waitForBlocked(service.database);
  await foreign.query("INSERT INTO plants VALUES (1001, 'Yew')");
  const alsoBlocked = service.post({ id: 1001, name: 'Ash' }).then(({ status }) => status);
  const others = await Promise.all(
    Array.from({ length: 40 }, (_, index) => service.post({ id: 4000 + index, name: 'Ash' })),
  );
  expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
  await foreign.query('COMMIT');
  expect([await alsoBlocked, ...(await Promise.all(blocked))]).toEqual([400, ...blocked.map(() => 200)]);
});

test('a transaction that is rolled back leaves the id to one of those that wait', async () => {
  const blocked = sendBlocked();
  await waitForBlocked(service.database);
  await foreign.query('ROLLBACK');
  const creations = await Promise.all(blocked.map(([created]) => created));
  expect(creations.sort()).toEqual([200, ...Array.from({ length: 29 }, () => 400)]);
  await Promise.all(blocked.flat());
});

test('a plant that stays locked: 503, code 1500, which says that nothing was changed', async () => {
  const answer = service.post({ id: 1000, name: 'Ash' }).then((response) => response);
  await waitUntil('attempts to store it', () => service.inUse().lockedPlants > 0);
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + 3_600_000);
  const { status, body } = await answer.finally(() => jest.restoreAllMocks());
  expect([status, body]).toEqual([
    503,
    { error: 1500, message: 'Another transaction has locked the plant; nothing was changed. Try again later.' },
  ]);
  expect(await blockedStatements(service.database)).toEqual([]);
});

const KEY = 'Idempotency-Key';

testUnless(onCitus('each is waited for'), 'many locked plants hold up others as little as a few', async () => {
  // Waiting 0.4 s for each of 300 plants, two to four at a time, takes longer than the deadline of the others, 24 s.
  const hasty = await start({ DATABASE_CONNECTIONS: '8', REQUEST_TIMEOUT: '30' }, { requestLimits: shippedLocks });
  const other = new Client({ connectionString: hasty.database.url });
  await other.connect();
  try {
    await hasty.database.query("INSERT INTO plants SELECT i, 'Fir' FROM generate_series(1, 400) i");
    await other.query('BEGIN');
    await other.query("UPDATE plants SET name = 'Yew' WHERE id <= 300");
    await other.query('SELECT FROM plants WHERE id <= 300 FOR UPDATE');
    await other.query("INSERT INTO plants SELECT i, 'Yew' FROM generate_series(1001, 1300) i");
    const change = (id: number) => hasty.request('put', `/plants/${id}`).send({ name: 'Oak' });
    const kinds = [
      { send: change, done: [200, 'Oak'] },
      { send: (id: number) => change(id).set(KEY, `put-${id}`), done: [200, 'Oak'] },
      { send: (id: number) => change(id).set({ [KEY]: `new-${id}`, 'If-None-Match': '*' }), done: [412, 'Yew'] },
      { send: (id: number) => hasty.post({ id, name: 'Ash' }), done: [400, 'Yew'], first: 1000 },
      { send: (id: number) => hasty.post({ id, name: 'Ash' }).set(KEY, `${id}`), done: [400, 'Yew'], first: 1000 },
    ];
    const blocked = Array.from({ length: 300 }, (_, index) => {
      const { send, done, first = 0 } = kinds[index % kinds.length] as (typeof kinds)[0];
      const id = first + index + 1;
      return { id, done, status: send(id).then(({ status }) => status) };
    });
    const others = [301, 302, 303, 304].flatMap((id) => [
      change(id),
      change(id + 50).set(KEY, `other-${id}`),
      hasty.request('delete', `/plants/${id + 20}`),
      hasty.post({ id: id + 2000, name: 'Elm' }),
      hasty.post({ id: id + 3000, name: 'Elm' }).set(KEY, `new-${id}`),
    ]);
    const statuses = await Promise.all(others.map((request) => request.then(({ status }) => status)));
    expect(statuses).toEqual([1, 2, 3, 4].flatMap(() => [200, 200, 204, 200, 200]));
    await other.query('COMMIT');
    await Promise.all(blocked.map(({ status }) => status));
    const names = await hasty.database.query('SELECT id::int, name FROM plants');
    const nameOf = new Map(names.map(({ id, name }) => [id, name]));
    // Some may have waited too long; nothing of theirs was changed then.
    for (const { id, done, status } of blocked)
      expect([done, [503, 'Yew']]).toContainEqual([await status, nameOf.get(id)]);
  } finally {
    await other.end();
  }
});
