import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import type { RequestLimits } from '../../src/request-limits.ts';
import { lockTable, terminateBlocked, waitForBlocked } from '../support/lock-table.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { useTestService, useTestServices } from '../support/use-test-service.ts';

const service = useTestService({ REQUEST_TIMEOUT: '60' });
const startServices = useTestServices();
/** Another instance, with shorter limits. */
const startWith = (requestLimits: Partial<RequestLimits>) =>
  startServices({}, { databaseUrl: service.database.url, requestLimits });
/** Plants 1 to 9: those with even ids have the tag Abies, and the others none. The first are stored last. */
beforeEach(async () => {
  await service.database.query('TRUNCATE plants');
  await service.database.query(
    "INSERT INTO plants SELECT id, 'Fir ' || id, CASE WHEN id % 2 = 0 THEN 'Abies' END FROM generate_series(9, 1, -1) AS id",
  );
});

const all = [1, 2, 3, 4, 5, 6, 7, 8, 9];
/** The ids of the plants for which a condition holds. */
const idsWhere = async (condition = 'TRUE') =>
  (await service.database.query(`SELECT id FROM plants WHERE ${condition} ORDER BY id`)).map(({ id }) => Number(id));

const send = (method: string, query: string, change: object = { name: 'Yew' }, { agent } = service) => {
  const request = method === 'DELETE' ? agent.delete(`/plants${query}`) : agent.patch(`/plants${query}`).send(change);
  return request.set('Authorization', `Bearer ${service.token}`);
};
const remove = (query: string) => send('DELETE', query);
const patch = (query: string, change: object) => send('PATCH', query, change);

/** Other programs. A test that fails leaves no lock. */
const others: Client[] = [];
const begin = async (statements: string) => {
  const other = new Client({ connectionString: service.database.url });
  others.push(other);
  await other.connect();
  await other.query(`BEGIN; ${statements}`);
  return other;
};
afterEach(async () => {
  for (const other of others.splice(0)) await other.end();
});

describe.each(['DELETE', 'PATCH'])('%s /plants', (method) => {
  const unchanged = () => idsWhere("name LIKE 'Fir _'");

  test('waits for a locked plant no longer than other statements: 503, code 1500, and nothing is changed', async () => {
    const instance = await startWith({ lockTimeout: 200 });
    await begin('SELECT FROM plants WHERE id = 8 FOR UPDATE');
    const { status, body } = await send(method, '?tag=Abies', undefined, instance);
    expect([status, body]).toEqual([
      503,
      { error: 1500, message: 'Another transaction has locked the data; nothing was changed. Try again later.' },
    ]);
    expect(await unchanged()).toEqual(all);
  });

  testUnless(
    onCitus('a worker may have committed a statement that is canceled'),
    'has the time of a search: 503, code 1505, and nothing is changed',
    async () => {
      const instance = await startWith({ statementTimeout: 5000 });
      const unlock = await lockTable(service.database.url, 'plants');
      const responses = await Promise.all(
        ['?tag=Abies', '?tag=Abies&limit=5'].map((query) => send(method, query, undefined, instance)),
      );
      await unlock();
      const advices = [
        'Add a limit, and repeat the request until it changes none.',
        'Lower the limit, or name the plants by their ids.',
      ];
      expect(responses.map(({ status, body }) => ({ status, body }))).toEqual(
        advices.map((advice) => {
          const message = `The change took too long; nothing was changed. ${advice}`;
          return { status: 503, body: { error: 1505, message } };
        }),
      );
      expect(await unchanged()).toEqual(all);
    },
  );

  test('whose connection is lost: 503, code 1501, which says that the outcome is unknown', async () => {
    const unlock = await lockTable(service.database.url, 'plants');
    const answer = send(method, '?tag=Abies').then((response) => response);
    await waitForBlocked(service.database);
    await terminateBlocked(service.database);
    const { status, body } = await answer;
    await unlock();
    expect([status, body.error, body.message]).toEqual([
      503,
      1501,
      expect.stringContaining('outcome is unknown: plants may have been changed'),
    ]);
  });
});

describe('at the same time as others', () => {
  const inOrder = onCitus('the workers lock plants in any order');

  testUnless(inOrder, 'plants are locked in the order of their ids', async () => {
    const other = await begin('SELECT FROM plants WHERE id = 3 FOR UPDATE');
    const answer = remove('?q=fir').then(({ text }) => text);
    await waitForBlocked(service.database);
    const { rows } = await other.query('SELECT id FROM plants ORDER BY id FOR UPDATE SKIP LOCKED');
    expect(rows.map(({ id }) => Number(id))).toEqual([3, 4, 5, 6, 7, 8, 9]);
    await other.query('ROLLBACK');
    expect(await answer).toBe('{"deleted":9}');
  });

  testUnless(
    inOrder,
    'a plant that stops matching while it is waited for is left, and the limit is met by others',
    async () => {
      const other = await begin("UPDATE plants SET tag = 'Taxus' WHERE id = 2; DELETE FROM plants WHERE id = 4");
      const answer = remove('?tag=Abies&limit=1').then(({ text }) => text);
      await waitForBlocked(service.database);
      await other.query('COMMIT');
      expect([await answer, await idsWhere()]).toEqual(['{"deleted":1}', [1, 2, 3, 5, 7, 8, 9]]);
    },
  );

  test('a plant whose name changes while it is waited for is changed as it is then', async () => {
    const other = await begin("UPDATE plants SET name = 'Oak' WHERE id = 2");
    const answer = patch('?tag=Abies', { tag: 'Quercus' }).then(({ text }) => text);
    await waitForBlocked(service.database);
    await other.query('COMMIT');
    expect(await answer).toBe('{"updated":4}');
    expect(await service.stored('2')).toEqual({ id: '2', name: 'Oak', tag: 'Quercus' });
  });

  test('each plant that a POST stored is deleted once', async () => {
    let deleted = 0;
    const count = async () => {
      const { body } = await remove('?tag=new');
      deleted += body.deleted;
    };
    for (let round = 0; round < 10; round++) {
      const posts = Array.from({ length: 20 }, (_, index) =>
        service.post({ id: 1000 + 20 * round + index, name: 'Fir', tag: 'new' }).expect(200),
      );
      await Promise.all([...posts, count(), count()]);
    }
    await count();
    expect([deleted, await idsWhere()]).toEqual([200, [1, 2, 3, 4, 5, 6, 7, 8, 9]]);
  });

  testUnless(inOrder, 'changes of overlapping plants and imports do not deadlock', async () => {
    await service.database.query("INSERT INTO plants SELECT id, 'Fir', 'a' FROM generate_series(2000, 1001, -1) AS id");
    const ids = Array.from({ length: 100 }, (_, index) => `id=${2000 - 10 * index}`).join('&');
    const file = Array.from({ length: 1000 }, (_, index) => `{"id":${2000 - index},"name":"Fir","tag":"a"}\n`).join('');
    const importAll = () =>
      service.agent
        .post('/plants/import?onConflict=replace')
        .set({ Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/x-ndjson' })
        .send(file);
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all([
        patch('?q=fir', { tag: `b${round}` }),
        patch(`?${ids}`, { tag: `c${round}` }),
        remove('?tag=a'),
        remove(`?${ids}`),
        importAll(),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    }
    const [found] = await service.database.query(
      'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(found).toEqual({ deadlocks: '0' });
  });
});
