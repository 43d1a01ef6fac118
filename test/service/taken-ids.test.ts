import { expect, test } from '@jest/globals';
import { otherSessions } from '../support/other-sessions.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const start = useTestServices();

test('taken ids leave no errors in the log of PostgreSQL', async () => {
  const { agent, token, database, post, stopServer } = await start();
  const rows = Array.from({ length: 5000 }, (_, id) => `{"id":${id},"name":"Fir"}\n`);
  const importRows = async (query: string) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-ndjson' };
    const { body } = await agent.post(`/plants/import${query}`).set(headers).send(rows.join(''));
    return [body.created, body.skipped, body.failed];
  };
  await post({ id: 3000, name: 'Yew' });
  expect(await importRows('?maxErrors=10000')).toEqual([4999, 0, 1]);
  expect(await importRows('?maxErrors=10000')).toEqual([0, 0, 5000]);
  expect(await importRows('?onConflict=skip')).toEqual([0, 5000, 0]);
  const posts = [1, 1, 2, 3, 4].map((id) => post({ id, name: 'Yew' }));
  expect((await Promise.all(posts)).map(({ body }) => body.error)).toEqual([1004, 1004, 1004, 1004, 1004]);
  await stopServer();
  // PostgreSQL adds up its statistics when a connection closes. Each failed statement is a transaction that was rolled back.
  await waitUntil('the connections to close', async () => (await otherSessions(database)).length === 0);
  const statistics =
    'SELECT xact_rollback, xact_commit > 10 AS counts FROM pg_stat_database WHERE datname = current_database()';
  const [row] = await database.query(statistics);
  expect(row).toEqual({ xact_rollback: '0', counts: true });
});
