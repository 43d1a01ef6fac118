import { afterEach, expect, jest, test } from '@jest/globals';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { generateTokenText, hashTokenText } from '../../src/tokens/token.ts';
import { createTokenRepository } from '../../src/tokens/token-repository.ts';
import { blockedStatements, lockTable, waitForBlocked } from '../support/lock-table.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const start = useTestServices();
const testDatabase = useTestDatabase();
afterEach(() => {
  jest.restoreAllMocks();
});

test('lookups of any number of tokens leave no prepared statement behind', async () => {
  await using stack = new AsyncDisposableStack();
  const { url } = testDatabase;
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
  expect(statements).toHaveLength(0);
});

test('lookups of unknown tokens take at most one connection and do not delay known tokens', async () => {
  const service = await start({ REQUEST_TIMEOUT: '60' });
  const post = (id: number, token: string) => service.post({ id, name: 'Fir' }, { Authorization: `Bearer ${token}` });
  // Stands still for the 4 s in which the service trusts a token without a lookup.
  const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  expect((await post(1, service.token)).status).toBe(200);
  // Otherwise the note of its use would wait for the lock, too.
  await waitUntil('a note of the use', async () =>
    (await service.database.query('SELECT last_used_at FROM tokens')).every(({ last_used_at }) => last_used_at),
  );
  const unlock = await lockTable(service.database.url, 'tokens');
  let refused = 0;
  const guesses = Array.from({ length: 200 }, (_, index) =>
    post(1000 + index, generateTokenText()).then(({ status }) => {
      refused++;
      return status;
    }),
  );
  await waitForBlocked(service.database);
  const known = await Promise.all([2, 3, 4, 5, 6].map(async (id) => (await post(id, service.token)).status));
  clock.mockRestore();
  expect(known).toEqual(Array(5).fill(200));
  expect(refused).toBe(0);
  expect(await blockedStatements(service.database)).toEqual([expect.stringContaining('tokens')]);
  await unlock();
  const statuses = await Promise.all(guesses);
  expect(statuses.filter((status) => status === 401)).toHaveLength(60);
  expect(statuses.filter((status) => status === 429)).toHaveLength(140);
});

test('a valid token that the service has not seen yet is accepted among many invalid ones', async () => {
  const service = await start();
  const guesses = Array.from({ length: 100 }, () =>
    service.agent
      .get('/plants')
      .set('Authorization', `Bearer ${generateTokenText()}`)
      .then(({ status }) => status),
  );
  expect((await service.request('get', '/plants')).status).toBe(200);
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([401, 429]));
});
