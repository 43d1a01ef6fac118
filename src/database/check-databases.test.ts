import { expect, test } from '@jest/globals';
import { findImportObstacle, findIsolationObstacle } from './check-databases.ts';
import type { DatabaseFacts } from './inspect-database.ts';

const URL = 'postgresql://garden@localhost/plants';
const facts = (mayCreateTemporary: boolean) => ({ role: 'garden', mayCreateTemporary }) as DatabaseFacts;

test.each([
  [URL, facts(true), undefined],
  [URL, undefined, undefined],
  [URL, facts(false), 'imports need the privilege TEMPORARY: GRANT TEMPORARY ON DATABASE … TO "garden"'],
  [`${URL}?pgbouncer=true`, facts(true), 'imports need DIRECT_URL, a URL of PostgreSQL without a pooler'],
])('what keeps imports at %s from working', (url, found, expected) => {
  expect(findImportObstacle({ url, ...(found && { facts: found }) })).toBe(expected);
});

test.each([
  ['read committed', undefined],
  ['read uncommitted', undefined],
  [
    'repeatable read',
    expect.stringMatching(/^default_transaction_isolation is repeatable read, .*ALTER ROLE "garden" SET /),
  ],
  ['serializable', expect.stringMatching(/^default_transaction_isolation is serializable, /)],
])('a default isolation of %s', (isolation, expected) => {
  expect(findIsolationObstacle({ facts: { role: 'garden', isolation } as DatabaseFacts })).toEqual(expected);
});
