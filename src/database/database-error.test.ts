import { describe, expect, test } from '@jest/globals';
import {
  classifyDatabaseError,
  isIdleEnd,
  isOutOfConnections,
  isRowRefusal,
  isStatementTimeout,
  isUniqueViolation,
  OutcomeUnknownError,
  toConnectError,
  toWriteError,
} from './database-error.ts';

/** As the driver, or the system, throws it. */
const own = (code: string, severity = 'ERROR') => Object.assign(new Error('failed'), { code, severity });
/** As Prisma throws it for a raw query. */
const ofRawQuery = (originalCode: string, kind = 'postgres', severity = 'ERROR') =>
  Object.assign(new Error('failed'), {
    code: 'P2010',
    meta: { driverAdapterError: { cause: { originalCode, kind, severity } } },
  });

describe('classifyDatabaseError', () => {
  test.each([undefined, null, 'text', {}])('%j is no database failure', (thrown) => {
    expect(classifyDatabaseError(thrown)).toBeUndefined();
  });

  test.each([
    ['notMigrated', ['42P01', '42703']],
    ['conflict', ['40000', '40001', '40P01']],
    ['locked', ['55P03', '55006']],
    ['cancelled', ['57014']],
    // PostgreSQL ended the session, or does not know either.
    [
      'interrupted',
      ['57P01', '57P02', '57P05', '25P03', '25P04', '40003', '08000', '08003', '08006', '08007', '08P01'],
    ],
    ['unreachable', ['08001', '08004', '25006', '28000', '28P01', '3D000']],
    ['unreachable', ['53300', '57P03']],
    [
      'interrupted',
      ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'ECONNABORTED', 'EPROTO'],
    ],
    [
      'interrupted',
      ['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SOCKET_CLOSED'],
    ],
    ['interrupted', ['ConnectionClosed', 'SocketTimeout']],
    [
      undefined,
      ['P2002', 'P2010', '22021', '23514', '42501', '42P02', '54000', '55000', 'XX000', '153100', '5310', 'ERROR'],
    ],
    // Of files, and of the arguments of functions.
    [undefined, ['EACCES', 'ENOENT', 'EPERM', 'EISDIR', 'ENOSPC', 'EIO', 'EMFILE', 'ERR_INVALID_ARG_TYPE']],
  ])('%s: %j', (failure, codes) => {
    for (const code of codes) {
      expect([code, classifyDatabaseError(own(code))]).toEqual([code, failure]);
      expect([code, classifyDatabaseError(ofRawQuery(code))]).toEqual([code, failure]);
      expect([code, classifyDatabaseError(ofRawQuery('', code))]).toEqual([code, failure]);
    }
  });

  test.each([
    ['busy', 'timeout exceeded when trying to connect'],
    ['unreachable', 'Connection terminated due to connection timeout'],
    ['interrupted', 'Connection terminated unexpectedly'],
    ['interrupted', 'Connection terminated'],
    ['unreachable', 'query_wait_timeout'],
    ['unreachable', 'pgbouncer cannot connect to server'],
    ['interrupted', 'Client has encountered a connection error and is not queryable'],
    ['interrupted', 'Client was closed and is not queryable'],
    ['interrupted', 'Query read timeout'],
    ['interrupted', 'failure on connection marked as essential: worker-1:5432'],
    ['interrupted', 'server closed the connection unexpectedly\n\tThis probably means …'],
    ['interrupted', 'could not receive data from server: No route to host'],
    ['interrupted', 'SSL SYSCALL error: EOF detected'],
    ['interrupted', 'connection not open'],
    [undefined, 'something else'],
  ])('%s: an error without a code, %j', (failure, message) => {
    expect(classifyDatabaseError(new Error(message))).toBe(failure);
  });

  // No disk, memory or connection is left; an operator intervened.
  const limits = ['53000', '53100', '53200', '53400', '57000', '57P04', '58000', '58030'];

  test('unreachable: an ERROR of the disk, the memory or an operator, which undoes the statement', () => {
    for (const code of limits) {
      expect([code, classifyDatabaseError(own(code))]).toEqual([code, 'unreachable']);
      expect([code, classifyDatabaseError(ofRawQuery(code))]).toEqual([code, 'unreachable']);
    }
  });

  // In German and Russian, too.
  test.each(['FATAL', 'PANIC', 'PANIK', 'ВАЖНО'])(
    'interrupted: %s, which ends the session, perhaps after a commit',
    (severity) => {
      for (const code of limits) {
        expect([code, classifyDatabaseError(own(code, severity))]).toEqual([code, 'interrupted']);
        expect([code, classifyDatabaseError(ofRawQuery(code, 'postgres', severity))]).toEqual([code, 'interrupted']);
      }
    },
  );

  test.each(['FATAL', 'PANIC'])('interrupted: an internal error of severity %s', (severity) => {
    expect(classifyDatabaseError(own('XX000', severity))).toBe('interrupted');
  });

  test('a TypeError is a bug', () => {
    expect(classifyDatabaseError(new TypeError('x is not a function'))).toBeUndefined();
    expect(toWriteError(new TypeError('x'))).toBeInstanceOf(TypeError);
  });
});

test.each([
  ['08P01', 'unsupported startup parameter: statement_timeout'],
  ['57P01', 'terminating connection due to administrator command'],
  ['42704', 'unrecognized configuration parameter "pgbouncer"'],
  ['3D000', 'database "plants" does not exist'],
  ['28P01', 'password authentication failed'],
  ['53300', 'sorry, too many clients already'],
  ['ETIMEDOUT', 'connect ETIMEDOUT 192.0.2.1:5432'],
  ['ECONNRESET', 'read ECONNRESET'],
  ['EACCES', 'connect EACCES /run/postgresql/.s.PGSQL.5432'],
  ['ENOENT', 'connect ENOENT /run/postgresql/.s.PGSQL.5432'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'self-signed certificate in certificate chain'],
  [undefined, 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'],
])('%s while a connection is opened means that no statement was sent', (code, message) => {
  const cause = Object.assign(new Error(message), { code });
  const error = toConnectError(cause);
  expect([error.message, classifyDatabaseError(error)]).toEqual([expect.stringContaining(message), 'unreachable']);
  expect([toWriteError(error), error.cause]).toEqual([error, cause]);
});

test.each([
  ['53300', 'sorry, too many clients already'],
  ['08P01', 'no more connections allowed (max_client_conn)'],
  ['08P01', 'client connections exceeded (max_user_client_connections)'],
  ['XX000', 'Max client connections reached'],
])('%s, %s: there are no more connections', (code, message) => {
  expect(isOutOfConnections(toConnectError(Object.assign(new Error(message), { code })))).toBe(true);
});

test('other failures to open a connection are not taken for that', () => {
  for (const code of ['08P01', 'XX000', '28P01', 'ECONNREFUSED'])
    expect([code, isOutOfConnections(toConnectError(own(code)))]).toEqual([code, false]);
});

test.each([
  ['57P05', 'terminating connection due to idle-session timeout', true],
  ['08P01', 'client_idle_timeout', true],
  [undefined, 'Client has encountered a connection error and is not queryable', true],
  ['57P01', 'terminating connection due to administrator command', false],
  [undefined, 'Connection terminated unexpectedly', false],
])('%s, %s: the statement reached no session: %s', (code, message, isSafe) => {
  expect(isIdleEnd(Object.assign(new Error(message), { code }))).toBe(isSafe);
});

test('the error of opening a connection to one of several addresses has the code as its reason', () => {
  const error = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
  expect(toConnectError(error).message).toMatch(/ECONNREFUSED$/);
});

test.each(['ECONNRESET', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EPROTO', 'ERR_SSL_BAD_RECORD', '57P01'])(
  '%s during a write: its outcome is unknown',
  (code) => {
    expect(toWriteError(own(code))).toBeInstanceOf(OutcomeUnknownError);
  },
);

test.each(['57014', '55P03', '40001', '53100', '57P03'])('%s during a write: nothing was changed', (code) => {
  expect(toWriteError(own(code))).toMatchObject({ code });
});

test('only data exceptions, violated constraints and policies, exceeded limits and exceptions of triggers mean a rejected row', () => {
  for (const code of ['22001', '22021', '22P05', '23502', '23505', '23514', '44000', '45000', '54000', 'P0001']) {
    expect([code, isRowRefusal(own(code)), isRowRefusal(ofRawQuery(code))]).toEqual([code, true, true]);
  }
  for (const code of ['21000', '24000', '38000', '42501', '53100', 'P2010', '2202', 'x22021', 'P0002']) {
    expect([code, isRowRefusal(own(code)), isRowRefusal(ofRawQuery(code))]).toEqual([code, false, false]);
  }
});

test('distinguishes a statement timeout from a broken connection', () => {
  for (const code of ['57014', '25P04'])
    expect([isStatementTimeout(own(code)), isStatementTimeout(ofRawQuery(code))]).toEqual([true, true]);
  expect([isStatementTimeout(own('57P01')), isStatementTimeout(ofRawQuery('ECONNRESET'))]).toEqual([false, false]);
});

test('recognizes a unique violation by its code', () => {
  expect([isUniqueViolation(ofRawQuery('23505')), isUniqueViolation(ofRawQuery('23514'))]).toEqual([true, false]);
});
