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

test.each([
  ['1', 100],
  ['4', 400],
  ['60', 400],
])('with REQUEST_TIMEOUT=%s, a statement waits for a lock for at most %d ms', (requestTimeout, lockTimeout) => {
  expect(limitsWith({ REQUEST_TIMEOUT: requestTimeout }).lockTimeout).toBe(lockTimeout);
});
