import { expect, test } from '@jest/globals';
import { readConfig } from './config/config.ts';
import { limitRequests } from './request-limits.ts';

const limitsWith = (environment: Record<string, string>) => limitRequests(readConfig(environment));

test.each([
  [1, 1, 1],
  [2, 1, 1],
  [8, 1, 1],
  [9, 1, 2],
  [10, 2, 2],
  [11, 2, 3],
  [12, 3, 3],
  [50, 3, 41],
])('with %d connections, searches use at most %d and changes at most %d', (connections, searches, changes) => {
  const limits = limitsWith({ DATABASE_CONNECTIONS: String(connections) });
  expect([limits.searches.batches, limits.changes.batches]).toEqual([searches, changes]);
});

test('REQUEST_TIMEOUT is divided: a fifth for the token, four fifths for the operation', () => {
  const limits = limitsWith({ REQUEST_TIMEOUT: '5' });
  expect([limits.lookUpTimeout, limits.connectTimeout, limits.statementTimeout]).toEqual([1000, 1000, 3000]);
  const { writes, reads, pages, longReads, searches, changes } = limits;
  for (const { deadline } of [writes, reads, pages, longReads, searches, changes]) expect(deadline).toBe(4000);
  for (const { deadline } of [limits.tokens, limits.newTokens]) expect(deadline).toBe(1000);
});

test('a statement of an import may take a minute, and never less than one of a request', () => {
  const timeoutsOf = ({ imports, statementTimeout }: ReturnType<typeof limitsWith>) => [
    statementTimeout,
    imports.statementTimeout,
  ];
  expect(timeoutsOf(limitsWith({}))).toEqual([6000, 60_000]);
  expect(timeoutsOf(limitsWith({ REQUEST_TIMEOUT: '200' }))).toEqual([120_000, 120_000]);
});

test('connecting takes at most 1.5 s, regardless of REQUEST_TIMEOUT', () => {
  expect(limitsWith({ REQUEST_TIMEOUT: '60' }).connectTimeout).toBe(1500);
});
