import { expect, test } from '@jest/globals';
import { createDatabase, createPool } from '../src/database/database.ts';
import { generateTokenText, hashTokenText } from '../src/tokens/token.ts';
import { createTokenRepository } from '../src/tokens/token-repository.ts';
import { lockTable } from './support/lock-table.ts';
import { createTestDatabase } from './support/test-database.ts';
import { startTestService } from './support/test-service.ts';

test('look-ups of any number of tokens at once take one prepared statement', async () => {
  await using stack = new AsyncDisposableStack();
  const { url, drop } = await createTestDatabase();
  stack.defer(drop);
  const pool = createPool({ url, connections: 1, connectTimeout: 5000, statementTimeout: 10_000 });
  const database = createDatabase({ pool, onConnectionLost: () => {} });
  stack.defer(() => database.$disconnect());
  const tokens = createTokenRepository({ database });
  const unknown = (count: number) => Array.from({ length: count }, () => hashTokenText(generateTokenText()));
  for (let count = 1; count <= 30; count++) {
    const found = await Promise.all(unknown(count).map((hash) => tokens.findByHash(hash)));
    expect(found.filter((token) => token !== null)).toEqual([]);
    expect(await tokens.findByHashes(unknown(count))).toEqual([]);
  }
  const statements =
    await database.$queryRaw`SELECT statement FROM pg_prepared_statements WHERE statement ~ 'token[s]'`;
  expect(statements).toHaveLength(1);
});

test('tokens that nobody knows take one connection at most, and leave plants and known tokens alone', async () => {
  const service = await startTestService({ REQUEST_TIMEOUT: '60' });
  await using stack = new AsyncDisposableStack();
  stack.defer(service.stop);
  const post = (id: number, token: string) => service.post({ id, name: 'Fir' }, { Authorization: `Bearer ${token}` });
  expect((await post(1, service.token)).status).toBe(200);
  const unlock = await lockTable(service.database.url, 'tokens');
  let refused = 0;
  const guesses = Array.from({ length: 200 }, (_, index) =>
    post(1000 + index, generateTokenText()).then(({ status }) => {
      refused++;
      return status;
    }),
  );
  const lookUps = async () => {
    const blocked = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    return (await service.database.query(`SELECT query ${blocked}`)).map(({ query }) => String(query));
  };
  while ((await lookUps()).length === 0);
  // Within the 4 s for which the token is trusted.
  for (let id = 2; id < 7; id++) expect((await post(id, service.token)).status).toBe(200);
  expect(refused).toBe(0);
  expect(await lookUps()).toEqual([expect.stringContaining('tokens')]);
  await unlock();
  const statuses = await Promise.all(guesses);
  expect(statuses.filter((status) => status === 401)).toHaveLength(60);
  expect(statuses.filter((status) => status === 429)).toHaveLength(140);
});

test('a good token that is not known yet is found among many that nobody knows', async () => {
  const service = await startTestService();
  const guesses = Array.from({ length: 100 }, () =>
    service.agent
      .get('/plants')
      .set('Authorization', `Bearer ${generateTokenText()}`)
      .then(({ status }) => status),
  );
  expect((await service.request('get', '/plants')).status).toBe(200);
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([401, 429]));
  await service.stop();
});
