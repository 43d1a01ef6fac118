import { expect, test } from '@jest/globals';
import { OutcomeUnknownError } from '../database/database-error.ts';
import { StoreError } from '../errors.ts';
import { ImportInterruptedError, toInterruption } from './import-errors.ts';

const failure = (code: string) => Object.assign(new Error('of PostgreSQL'), { code, severity: 'ERROR' });
const messageOf = (cause: unknown, onConflict: 'error' | 'skip' | 'replace' = 'error') =>
  toInterruption(new ImportInterruptedError(cause, [], { onConflict }), new StoreError('internal')).message;

test.each([
  ['42501', /^The role of the service lacks a privilege: imports need TEMPORARY on the database, /],
  ['25006', /^The database is read-only\./],
  ['53100', /^The disk of the database is full\./],
  ['53300', /^All connections to the database are in use\./],
  ['53400', /^The import needs more temporary space than temp_file_limit of the database allows\./],
  ['55P03', /^Another transaction has locked a plant\./],
  ['57014', /^The database cancelled the statement\./],
  ['57P01', /^The database connection was lost\./],
])('an import that PostgreSQL ends with %s says why, and that nothing is stored', (code, reason) => {
  expect(messageOf(failure(code))).toMatch(reason);
  expect(messageOf(failure(code))).toMatch(/ Nothing is stored\. Repeat the import\.$/);
});

test('a bug is not explained to clients, but is the cause, which the log has', () => {
  const cause = new Error('secret');
  const interrupted = new ImportInterruptedError(cause, [], { onConflict: 'error' });
  expect(toInterruption(interrupted, new StoreError('internal')).cause).toBe(cause);
  expect(messageOf(new Error('secret'))).toBe(
    'Internal error. The log has the cause. Nothing is stored. Repeat the import.',
  );
});

test('a file that is wrong as a whole need not be repeated', () => {
  expect(messageOf(new StoreError('fieldWrong', 'The header row lacks id.'))).toBe(
    'The header row lacks id. Nothing is stored.',
  );
});

test.each([
  ['error', 'Repeat the import with onConflict=skip.'],
  ['skip', 'Repeat the import with onConflict=skip.'],
  ['replace', 'Repeat the import.'],
] as const)('after a commit that was not confirmed, onConflict=%s: %s', (onConflict, advice) => {
  const message = messageOf(new OutcomeUnknownError('lost'), onConflict);
  expect(message).toBe(
    `The database connection was lost during the commit. It is not known whether all rows are stored or none. ${advice}`,
  );
});
