import { expect, test } from '@jest/globals';
import { findObstacles } from './check-databases.ts';
import type { DatabaseFacts } from './inspect-database.ts';

const URL = 'postgresql://garden@localhost/plants';
const POOLER = `${URL}?pgbouncer=true`;
const found = (facts: Partial<DatabaseFacts>, url = URL) => {
  const right = {
    role: 'garden',
    login: 'garden',
    mayCreateTemporary: true,
    mayNoteUses: true,
    ignoresCase: true,
    isolation: 'read committed',
    tables: { plants: 'public' },
    searchPath: 'garden',
    statementTimeout: 5000,
  };
  return { variable: 'DATABASE_URL', url, facts: { ...right, ...facts } as DatabaseFacts };
};
const TEMPORARY = 'imports need the privilege TEMPORARY: GRANT TEMPORARY ON DATABASE … TO "garden"';
const REPEATABLE =
  /^default_transaction_isolation is repeatable read, .*ALTER ROLE "garden" SET default_transaction_isolation = 'read committed'/;

test.each([
  ['none', [found({})], []],
  ['none if nothing is known of the database', [{ variable: 'DATABASE_URL', url: URL }], []],
  [
    'a pooler',
    [found({ mayCreateTemporary: false }, POOLER)],
    ['imports need DIRECT_URL, a URL of PostgreSQL without a pooler'],
  ],
  ['none if imports have a URL of their own', [found({ mayCreateTemporary: false }, POOLER), found({})], []],
  ['a pooler that its URL does not name', [found({ statementTimeout: 0 })], [expect.stringMatching(/pgbouncer=true/)]],
  ['none if the URL sets the time limit', [found({ statementTimeout: 7 }, `${URL}?statement_timeout=7`)], []],
  ['no temporary tables', [found({}, POOLER), found({ mayCreateTemporary: false })], [TEMPORARY]],
  [
    'tokens whose uses cannot be noted',
    [found({ mayNoteUses: false })],
    ['token list shows no last uses: GRANT UPDATE (last_used_at) ON tokens TO "garden"'],
  ],
  [
    'parameters of other drivers',
    [found({}, `${URL}?channel_binding=require&sslmode=require&connection_limit=5&connection_limit=6`)],
    ['the driver does not know the parameters channel_binding, connection_limit of DATABASE_URL, and ignores them'],
  ],
  ['a locale', [found({ ignoresCase: false })], [expect.stringMatching(/^searches by name take É and é/)]],
  ['a locale of ICU', [found({ findsSigma: false })], [expect.stringMatching(/^searches by name miss a Greek Σ/)]],
  [
    'no table',
    [found({ tables: {} })],
    [expect.stringMatching(/^no schema of the search_path \(garden\) has a table/)],
  ],
  ['a weaker isolation', [found({ isolation: 'read uncommitted' })], []],
  ['a stricter one', [found({ isolation: 'repeatable read' })], [expect.stringMatching(REPEATABLE)]],
  ['the strictest', [found({ isolation: 'serializable' })], [expect.stringContaining('isolation is serializable')]],
])('what keeps requests from working: %s', (_title, databases, expected) => {
  expect(findObstacles(databases, { isMigrated: true })).toEqual(expected);
});

test('a migration has created the tables since', () => {
  expect(findObstacles([found({ tables: {} })], { isMigrated: false })).toEqual([]);
});
