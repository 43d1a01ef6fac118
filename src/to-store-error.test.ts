import { expect, test } from '@jest/globals';
import { DatabaseUnreachableError, OutcomeUnknownError } from './database/database-error.ts';
import { toStoreError } from './to-store-error.ts';

const withCode = (code: string) => Object.assign(new Error('of PostgreSQL'), { code });
const UNCHANGED = /; nothing was changed\. Try again later\.$/;

test.each<[string, Error, number, RegExp]>([
  ['a missing table', withCode('42P01'), 1502, /^The database is not migrated\./],
  ['no connection', new DatabaseUnreachableError('refused'), 1501, UNCHANGED],
  ['a connection that broke while it read', withCode('ECONNRESET'), 1501, /^The database cannot be reached\./],
  ['a connection that broke while it wrote', new OutcomeUnknownError('lost'), 1501, /The outcome is unknown\./],
  ['a full pool', new Error('timeout exceeded when trying to connect'), 1500, UNCHANGED],
  ['a lock', withCode('55P03'), 1500, UNCHANGED],
  ['a statement that took too long', withCode('57014'), 1500, UNCHANGED],
  ['a deadlock', withCode('40P01'), 1500, UNCHANGED],
  ['a conflict of transactions', withCode('40001'), 1500, UNCHANGED],
  ['a bug', new TypeError('undefined'), 1599, /^Internal error\./],
])('the code and the message of %s', (_what, thrown, code, message) => {
  expect(toStoreError(thrown)).toMatchObject({ code, cause: thrown, message: expect.stringMatching(message) });
});
