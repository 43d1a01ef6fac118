import { expect, test } from '@jest/globals';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { createKeptAnswerRepository } from '../../src/idempotency/kept-answer-repository.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

const database = useTestDatabase();

/** Keys per simulated minute, and how many minutes each is kept. */
const [KEYS, KEPT] = [1500, 10];

test('an hour of keys: expired ones are deleted, and the table stops growing', async () => {
  const pool = createPool({ url: database.url, connections: 2, connectTimeout: 5000, statementTimeout: 30_000 });
  const prisma = createDatabase({ pool, onConnectionLost: () => {} });
  const { deleteExpired } = createKeptAnswerRepository({ database: prisma, retention: 1000 });
  const sizes: number[] = [];
  try {
    for (let minute = 0; minute < 60; minute++) {
      const first = minute * KEYS;
      await database.query(`
        INSERT INTO idempotency_keys SELECT sha256(n::text::bytea), sha256(''), 200, NULL,
          now() + interval '1 day' FROM generate_series(${first}, ${first + KEYS - 1}) AS n`);
      if (minute >= KEPT) {
        const old = (minute - KEPT) * KEYS;
        // In place of waiting for them to expire.
        await database.query(`
          UPDATE idempotency_keys SET expires_at = now() WHERE key IN (
            SELECT sha256(n::text::bytea) FROM generate_series(${old}, ${old + KEYS - 1}) AS n)`);
        await Promise.all(
          [1, 2].map(async () => {
            while (await deleteExpired());
          }),
        );
      }
      // As autovacuum, which looks once a minute.
      await database.query('VACUUM idempotency_keys');
      const [row] = await database.query(
        "SELECT count(*)::int AS count, pg_total_relation_size('idempotency_keys')::int AS size FROM idempotency_keys",
      );
      expect(row?.count).toBe(Math.min(minute + 1, KEPT) * KEYS);
      sizes.push(row?.size as number);
    }
    expect(sizes[59] as number).toBeLessThan(1.3 * (sizes[20] as number));
  } finally {
    await prisma.$disconnect();
  }
});
