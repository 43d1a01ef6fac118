import { readFileSync, rmdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readConfig } from '../config/config.ts';
import { toConnectError, toWriteError } from '../database/database-error.ts';
import { OperationalError } from '../errors.ts';
import { explainError } from './with-database.ts';

const DATA_DIR = resolve('no-such-folder');

/** Explains what `action` throws. */
const explain = (action: () => unknown) => {
  try {
    action();
    return 'nothing was thrown';
  } catch (error) {
    return explainError(error, () => readConfig({ DATA_DIR }));
  }
};

test('a file system error in the data folder blames DATA_DIR', () => {
  for (const path of [DATA_DIR, join(DATA_DIR, 'postgres')])
    expect(explain(() => rmdirSync(path))).toMatch(/^ENOENT: .+\. DATA_DIR must be .+\.$/);
});

test('other errors with a path print their message only', () => {
  expect(explain(() => readFileSync('/no-such-file'))).toMatch(/^ENOENT: .+ '\/no-such-file'$/);
  expect(explain(() => readFileSync(`${DATA_DIR}-2/x`))).toMatch(/^ENOENT: .+-2\/x'$/);
  const error = Object.assign(new Error('too many open files'), { code: 'EMFILE', path: join(DATA_DIR, 'x') });
  expect(explainError(error, () => readConfig({ DATA_DIR }))).toBe('too many open files');
});

test('a bug prints its stack trace, an operational error its message', () => {
  expect(explain(() => JSON.parse('{'))).toMatch(/^SyntaxError: .+\n +at /);
  expect(explainError(new OperationalError('Try again.'), () => readConfig({}))).toBe('Try again.');
});

describe('a database that cannot be reached', () => {
  const refused = toConnectError(
    Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }),
  );
  const DATABASE_URL = 'postgresql://gardener:se%40cret@db.example:5433/plants';

  test('names the setting, role, database and server, never the password', () => {
    expect(explainError(refused, () => readConfig({ DATABASE_URL }))).toBe(
      'The database is not available: connect ECONNREFUSED 127.0.0.1:1. ' +
        'Check DATABASE_URL: role "gardener", database "plants" at db.example:5433.',
    );
  });

  test('names both settings if there is a DIRECT_URL, which some commands use', () => {
    const DIRECT_URL = 'postgresql://owner:se%40cret@direct.example/plants';
    expect(explainError(refused, () => readConfig({ DATABASE_URL, DIRECT_URL }))).toMatch(
      /Check DATABASE_URL: .* at db\.example:5433, and DIRECT_URL: role "owner", database "plants" at direct\.example:5432\.$/,
    );
  });

  test('names the log of the embedded PostgreSQL', () => {
    expect(explainError(refused, () => readConfig({ DATA_DIR }))).toBe(
      'The database is not available: connect ECONNREFUSED 127.0.0.1:1. ' +
        `It is the embedded PostgreSQL (role "plant_store"). Its log is in ${DATA_DIR}/postgres/log.`,
    );
  });

  test("gives PostgreSQL's reason instead of Prisma's", () => {
    const cause = { originalCode: '28000', originalMessage: 'role "gardener" is not permitted to log in' };
    const error = Object.assign(new Error('User was denied access on the database `(not available)`'), {
      code: 'P1010',
      meta: { driverAdapterError: { cause } },
    });
    expect(explainError(error, () => readConfig({ DATABASE_URL }))).toMatch(
      /^The database is not available: role "gardener" is not permitted to log in\. Check DATABASE_URL: /,
    );
  });

  test('gives the reason for which a connection could not be opened', () => {
    expect(explainError(refused, () => readConfig({ DATABASE_URL }))).toMatch(
      /^The database is not available: connect ECONNREFUSED 127\.0\.0\.1:1\. Check /,
    );
    const denied = Object.assign(new Error('permission denied for database "plants"'), { code: '42501' });
    expect(explainError(toConnectError(denied), () => readConfig({ DATABASE_URL }))).toMatch(
      /^The database denies access: permission denied for database "plants"\. Check /,
    );
  });

  test('during a write, says that the outcome is unknown', () => {
    const broken = Object.assign(new Error('read EHOSTUNREACH'), { code: 'EHOSTUNREACH' });
    expect(explainError(toWriteError(broken), () => readConfig({ DATABASE_URL }))).toMatch(
      /^The connection to the database was lost, so it is unknown whether anything was changed: read EHOSTUNREACH\. Check /,
    );
  });

  test('gives the code if Node.js tried several addresses', () => {
    const error = toConnectError(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }));
    expect(explainError(error, () => readConfig({ DATABASE_URL }))).toMatch(/available: ECONNREFUSED\. Check /);
  });
});

test.each([
  ['25006', 'cannot execute INSERT in a read-only transaction'],
  ['53100', 'could not extend file: No space left on device'],
])('%s: a server that can be reached is not said to be out of reach', (code, message) => {
  const error = Object.assign(new Error(message), { code, severity: 'ERROR' });
  expect(explainError(error, () => readConfig({ DATA_DIR }))).toMatch(
    `The database is not available: ${message}. It is`,
  );
});

test.each([
  ['55P03', 'canceling statement due to lock timeout', 'Another transaction is in the way'],
  ['40P01', 'deadlock detected', 'Another transaction is in the way'],
  ['57014', 'canceling statement due to statement timeout', 'The database took too long'],
])('%s is no bug', (code, message, sentence) => {
  const error = Object.assign(new Error(message), { code });
  expect(explainError(error, () => readConfig({}))).toBe(`${sentence}: ${message}. Try again later.`);
});
