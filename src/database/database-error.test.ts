import { describe, expect, test } from '@jest/globals';
import {
  classifyDatabaseError,
  isRowRefusal,
  isStatementTimeout,
  isUniqueViolation,
  toConnectError,
} from './database-error.ts';

/** As the driver, or the system, throws it. */
const own = (code: string) => Object.assign(new Error('failed'), { code });
/** As Prisma throws it for a raw query. */
const ofRawQuery = (originalCode: string, kind = 'postgres') =>
  Object.assign(new Error('failed'), {
    code: 'P2010',
    meta: { driverAdapterError: { cause: { originalCode, kind } } },
  });

describe('classifyDatabaseError', () => {
  test.each([undefined, null, 'text', {}])('%j is no database failure', (thrown) => {
    expect(classifyDatabaseError(thrown)).toBeUndefined();
  });

  test.each([
    ['notMigrated', ['P2021', 'P2022', '42P01', '42703']],
    ['conflict', ['P2034', '40001', '40P01']],
    ['interrupted', ['P1008', 'P1017', 'ConnectionClosed', 'SocketTimeout', 'ECONNRESET', 'EPIPE']],
    ['interrupted', ['57014', '57P01', '57P02', '57P05', '08000', '08003', '08006', '08007', '08P01']],
    [
      'unreachable',
      ['P1000', 'P1001', 'P1003', 'P2024', 'P2037', '08001', '08004', '25006', '28000', '28P01', '3D000'],
    ],
    // No disk, memory or connection is left; what is configured is at its limit.
    ['unreachable', ['53000', '53100', '53200', '53300', '53400']],
    ['unreachable', ['55000', '57P03', '57P04', '58000', '58030']],
    ['unreachable', ['DatabaseNotReachable', 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']],
    ['unreachable', ['ETIMEDOUT', 'TlsConnectionError', 'SELF_SIGNED_CERT_IN_CHAIN', 'CERT_HAS_EXPIRED', 'EPROTO']],
    [undefined, ['P2002', 'P2010', '22021', '23514', '42501', '42P02', '54000', 'XX000', 'EACCES', '153100', '5310']],
  ])('%s: %j', (failure, codes) => {
    for (const code of codes) {
      expect([code, classifyDatabaseError(own(code))]).toEqual([code, failure]);
      expect([code, classifyDatabaseError(ofRawQuery(code))]).toEqual([code, failure]);
      expect([code, classifyDatabaseError(ofRawQuery('', code))]).toEqual([code, failure]);
    }
  });

  test.each([
    ['busy', 'timeout exceeded when trying to connect'],
    ['unreachable', 'timeout expired'],
    ['unreachable', 'Connection terminated due to connection timeout'],
    ['unreachable', 'The server does not support SSL connections'],
    ['interrupted', 'Connection terminated unexpectedly'],
    ['unreachable', 'query_wait_timeout'],
    ['unreachable', 'pgbouncer cannot connect to server'],
    ['interrupted', 'Client has encountered a connection error and is not queryable'],
    ['interrupted', 'failure on connection marked as essential: worker-1:5432'],
    [undefined, 'something else'],
  ])('%s: an error without a code, %j', (failure, message) => {
    expect(classifyDatabaseError(new Error(message))).toBe(failure);
  });
});

test.each([
  ['08P01', 'unsupported startup parameter: statement_timeout'],
  ['57P01', 'terminating connection due to administrator command'],
  ['42704', 'unrecognized configuration parameter "pgbouncer"'],
  ['3D000', 'database "plants" does not exist'],
  ['28P01', 'password authentication failed'],
  ['53300', 'sorry, too many clients already'],
])('%s while a connection is opened means that no statement was sent', (code, message) => {
  const error = toConnectError(Object.assign(new Error(message), { code }));
  expect([error.message, classifyDatabaseError(error)]).toEqual([expect.stringContaining(message), 'unreachable']);
});

test('only data exceptions, violated constraints, exceeded limits and exceptions of triggers mean a rejected row', () => {
  for (const code of ['22001', '22021', '22P05', '23502', '23505', '23514', '54000', 'P0001']) {
    expect([code, isRowRefusal(own(code)), isRowRefusal(ofRawQuery(code))]).toEqual([code, true, true]);
  }
  for (const code of ['21000', '24000', '42501', '53100', 'P2010', '2202', 'x22021', 'P0002']) {
    expect([code, isRowRefusal(own(code)), isRowRefusal(ofRawQuery(code))]).toEqual([code, false, false]);
  }
});

test('distinguishes a statement timeout from a broken connection', () => {
  expect([isStatementTimeout(own('57014')), isStatementTimeout(ofRawQuery('57014'))]).toEqual([true, true]);
  expect([isStatementTimeout(own('57P01')), isStatementTimeout(ofRawQuery('ECONNRESET'))]).toEqual([false, false]);
});

test('recognizes a unique violation by its code', () => {
  expect([isUniqueViolation(ofRawQuery('23505')), isUniqueViolation(ofRawQuery('23514'))]).toEqual([true, false]);
  expect(['P2002', '23505', 'P2003', '23514'].map((code) => isUniqueViolation(own(code)))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
