import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest } from '@jest/globals';
import { Client } from 'pg';
import { waitForBlocked } from '../support/lock-table.ts';
import { onCitus, unless } from '../support/skip.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { errorOf, expectReplay, isReplayed, useKeys } from '../support/use-keys.ts';
import { waitUntil } from '../support/wait-until.ts';

const { describe, test } = unless(onCitus('keys are refused'));

const { service, own, send, post } = useKeys();
let id = 0;
let key = '';
beforeEach(() => {
  ({ id, key } = own());
});

test('plants with and without keys in one batch have the outcomes of one after another', async () => {
  const bodies = Array.from({ length: 60 }, (_, index) => ({ id: id + (index % 20), name: `${index}` }));
  const answers = await Promise.all(
    bodies.map((body, index) =>
      index % 3 === 0 ? service.post(body) : post({ body, headers: { 'Idempotency-Key': `${key}-${index}` } }),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
  for (const [index, first] of answers.entries()) {
    expect([200, 400]).toContain(first.status);
    if (first.status === 200)
      expect(await service.stored(BigInt(id + (index % 20)))).toMatchObject({ name: `${index}` });
    if (index % 3 > 0)
      await expectReplay(
        () => post({ body: bodies[index] ?? '', headers: { 'Idempotency-Key': `${key}-${index}` } }),
        first,
      );
  }
});

test('a row that PostgreSQL refuses fails alone, and its key is not kept', async () => {
  await service.database.query("ALTER TABLE plants ADD CONSTRAINT no_oak CHECK (name <> 'Oak') NOT VALID");
  try {
    const answers = await Promise.all(
      ['Fir', 'Oak', 'Yew'].map((name, index) =>
        post({ body: { id: id + index, name }, headers: { 'Idempotency-Key': `${key}-${index}` } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 200]);
  } finally {
    await service.database.query('ALTER TABLE plants DROP CONSTRAINT no_oak');
  }
  const retry = await post({ body: { id: id + 1, name: 'Oak' }, headers: { 'Idempotency-Key': `${key}-1` } });
  expect([retry.status, isReplayed(retry)]).toEqual([200, false]);
});

/** Lets this time pass, in ms, and then none. @returns a function that ends it */
const stopClock = (milliseconds: number) => {
  const stopped = performance.now() + milliseconds;
  const clock = jest.spyOn(performance, 'now').mockReturnValue(stopped);
  return () => clock.mockRestore();
};

describe('a key that another instance is working on', () => {
  let other: Client;
  beforeEach(async () => {
    other = new Client({ connectionString: service.database.url });
    await other.connect();
    // As a statement of another instance that has not committed yet.
    await other.query('BEGIN');
    await other.query(
      `INSERT INTO idempotency_keys VALUES (sha256('test\n${key}'), '', 200, NULL, now() + interval '1 h')`,
    );
  });
  afterEach(() => other.end());

  test.each(['post', 'put', 'patch', 'delete'] as const)(
    '%s: 503 if it takes too long, and then the answer',
    async (method) => {
      const target = id + 5;
      await service.post({ id: target, name: 'Fir' });
      const body = { id: id + 6, name: 'Fir' };
      const again = () =>
        method === 'post'
          ? post({ body })
          : send(method, `/plants/${target}`, { ...(method !== 'delete' && { body: { name: 'Yew' } }) });
      const answering = again().then((response) => response);
      await waitForBlocked(service.database, 'idempotency_keys');
      const resume = stopClock(60_000);
      const answer = await answering.finally(resume);
      expect([errorOf(answer), answer.headers['retry-after']]).toEqual([[503, 1500], '1']);
      await other.query('ROLLBACK');
      const first = await again();
      expect([200, 204]).toContain(first.status);
      await expectReplay(again, first);
    },
  );

  test.each(['post', 'delete'] as const)('%s: the answer that it keeps meanwhile stays', async (method) => {
    const answering = (method === 'post' ? post() : send(method, `/plants/${id}`)).then((response) => response);
    await waitForBlocked(service.database, 'idempotency_keys');
    await other.query('COMMIT');
    // It was the answer to another request.
    expect(errorOf(await answering)).toEqual([422, 1301]);
    expect(await service.stored(String(id))).toBeUndefined();
  });
});

test('a locked plant with a key is stored once it is unlocked', async () => {
  const other = new Client({ connectionString: service.database.url });
  await other.connect();
  await other.query('BEGIN');
  await other.query(`INSERT INTO plants VALUES (${id}, 'Oak')`);
  const answering = post().then((response) => response);
  await waitUntil('attempts to store it', () => service.inUse().lockedPlants > 0);
  // A few attempts.
  await setTimeout(500);
  await other.query('ROLLBACK');
  await other.end();
  const answer = await answering;
  expect([answer.status, isReplayed(answer)]).toEqual([200, false]);
  await expectReplay(post, answer);
});

test.each(['put', 'delete'] as const)('%s of a plant that is deleted while it waits: there is none', async (method) => {
  await service.post({ id, name: 'Fir' });
  const { etag = '' } = (await service.request('get', `/plants/${id}`)).headers;
  const other = new Client({ connectionString: service.database.url });
  await other.connect();
  await other.query('BEGIN');
  await other.query(`DELETE FROM plants WHERE id = ${id}`);
  const body = method === 'put' ? { name: 'Yew' } : undefined;
  const change = () => send(method, `/plants/${id}`, { headers: { 'If-Match': etag }, ...(body && { body }) });
  const answering = change().then((response) => response);
  await waitForBlocked(service.database);
  await other.query('COMMIT');
  await other.end();
  const answer = await answering;
  expect(errorOf(answer)).toEqual([404, 1201]);
  await expectReplay(change, answer);
});

test('one plant for a thousand equal requests to three instances', async () => {
  const others = [1, 2].map(() => startTestService({}, { databaseUrl: service.database.url }));
  const instances = [service, ...(await Promise.all(others))];
  try {
    const answers = await Promise.all(
      Array.from({ length: 1000 }, (_, index) =>
        post({ to: instances[index % 3] as TestService, token: service.token }),
      ),
    );
    const [ok, rest] = [answers.filter(({ status }) => status === 200), answers.filter(({ status }) => status !== 200)];
    expect(new Set(ok.map(({ text }) => text))).toEqual(new Set(['{"name":"Fir","tag":"Abies"}']));
    expect(ok.filter((answer) => !isReplayed(answer))).toHaveLength(1);
    expect(rest).toEqual([]);
  } finally {
    for (const instance of instances.slice(1)) await instance.stop();
  }
});
