import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { OperationalError } from '../errors.ts';
import { HEAP_MIB, readConfig, variableNames } from './config.ts';

const message = (environment: Record<string, string>) => {
  try {
    readConfig(environment);
    return 'nothing is wrong';
  } catch (error) {
    if (error instanceof OperationalError) return error.message;
    throw error;
  }
};

describe('readConfig', () => {
  test('has a default for everything but the secrets', () => {
    expect(readConfig({})).toMatchObject({ host: '127.0.0.1', port: 3000, basePath: '', bodyLimit: 1_048_576 });
    expect(readConfig({}).databaseUrl).toBeUndefined();
  });

  test('is frozen, and takes an empty variable as not set', () => {
    const config = readConfig({ PORT: '', LOG_LEVEL: '' });
    expect(config).toEqual(readConfig({}));
    expect(Object.isFrozen(config)).toBe(true);
  });

  test('reads units and paths', () => {
    expect(readConfig({ REQUEST_TIMEOUT: '3', BASE_PATH: '/api/v1/', PORT: '0' })).toMatchObject({
      requestTimeout: 3000,
      basePath: '/api/v1',
      port: 0,
    });
    expect(readConfig({ BASE_PATH: '/.well-known/...' }).basePath).toBe('/.well-known/...');
  });

  test('reads durations with a unit, and numbers as seconds', () => {
    const { requestTimeout, shutdownDelay, shutdownTimeout, rateLimit } = readConfig({
      REQUEST_TIMEOUT: '1500ms',
      SHUTDOWN_DELAY: '5m',
      SHUTDOWN_TIMEOUT: '30',
      RATE_LIMIT: '10000/7d',
    });
    expect([requestTimeout, shutdownDelay, shutdownTimeout]).toEqual([1500, 300_000, 30_000]);
    expect(rateLimit).toEqual({ requests: 10_000, seconds: 604_800 });
    expect(message({ REQUEST_TIMEOUT: '3 sec', RATE_LIMIT: '600/min' })).toBe(
      [
        'The configuration is wrong:',
        'REQUEST_TIMEOUT is "3 sec" and must be a duration from 1s to 1h: a number of seconds, or a number with a unit (ms, s, m, h, d)',
        'RATE_LIMIT is "600/min" and must be requests/duration such as 600/60 or 600/1m, with a duration from 1s to 7d: a number of seconds, or a number with a unit (ms, s, m, h, d)',
      ].join('\n'),
    );
  });

  test('needs different ports for requests and metrics', () => {
    const expected = 'The configuration is wrong:\nMETRICS_PORT is "3000" and must be another port than PORT';
    expect(message({ METRICS_PORT: '3000' })).toBe(expected);
    expect(message({ METRICS_PORT: '0', PORT: '0' })).toBe('nothing is wrong');
  });

  test('serves metrics, if at all, at an address of their own', () => {
    const given = { HOST: '192.0.2.1', METRICS_PORT: '9464' };
    expect(readConfig({ HOST: '192.0.2.1' }).metrics).toBeUndefined();
    expect(readConfig(given).metrics).toEqual({ host: '127.0.0.1', port: 9464 });
    expect(readConfig({ ...given, METRICS_HOST: '0.0.0.0' }).metrics).toEqual({ host: '0.0.0.0', port: 9464 });
  });

  test('reads limits, proxies and origins', () => {
    expect(
      readConfig({
        RATE_LIMIT: '600/60',
        TRUST_PROXY: 'loopback, 10.0.0.0/8,2001:db8::/32,10.0.0.1,::ffff:10.0.0.1',
        CORS_ORIGINS: 'https://garden.example, http://localhost:5173',
      }),
    ).toMatchObject({
      rateLimit: { requests: 600, seconds: 60 },
      trustProxy: ['loopback', '10.0.0.0/8', '2001:db8::/32', '10.0.0.1', '::ffff:10.0.0.1'],
      corsOrigins: ['https://garden.example', 'http://localhost:5173'],
    });
    expect(readConfig({ TRUST_PROXY: '2' }).trustProxy).toBe(2);
    expect(readConfig({ TRUST_PROXY: 'linklocal,uniquelocal' }).trustProxy).toEqual(['linklocal', 'uniquelocal']);
    expect(readConfig({})).toMatchObject({ rateLimit: undefined, trustProxy: 0, corsOrigins: [] });
  });

  test('names every wrong variable at once, what it is and what it must be', () => {
    expect(message({ PORT: '65536', BODY_LIMIT: '1MB', LOG_LEVEL: 'loud', BASE_PATH: 'api', HOST: '0.0.0.0' })).toBe(
      [
        'The configuration is wrong:',
        'PORT is "65536" and must be a TCP port, 0 to 65535',
        'BASE_PATH is "api" and must be a path such as /api/v1, but not /livez or /readyz',
        'LOG_LEVEL is "loud" and must be one of fatal, error, warn, info, debug, trace, silent',
        'BODY_LIMIT is "1MB" and must be a number of bytes, 1 to 4194304',
      ].join('\n'),
    );
  });

  test.each(['http://collector:4318', 'http://collector:4318/', 'collector:4318'])(
    'traces go to /v1/traces of %s',
    (endpoint) => {
      const { tracing } = readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
      expect(tracing?.url).toBe('http://collector:4318/v1/traces');
    },
  );

  test('a collector may be an IPv6 address without a scheme', () => {
    const { tracing } = readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: '[::1]:4318' });
    expect(tracing?.url).toBe('http://[::1]:4318/v1/traces');
  });

  test.each([{ OTEL_SDK_DISABLED: 'True' }, { OTEL_TRACES_EXPORTER: 'none' }])(
    'without traces, the collector may be anything: %j',
    (environment) => {
      const { tracing } = readConfig({ ...environment, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'unix:///run/otel.sock' });
      expect(tracing).toBeUndefined();
    },
  );

  test('IMPORT_LIMIT may be larger than any file', () => {
    expect(readConfig({ IMPORT_LIMIT: '9007199254740991' }).importLimit).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => readConfig({ IMPORT_LIMIT: '9007199254740992' })).toThrow('IMPORT_LIMIT');
  });

  test('derives the largest BODY_LIMIT from the heap of the process', () => {
    expect(readFileSync('src/main.ts', 'utf8').split('\n')[0]).toContain(` --max-old-space-size=${HEAP_MIB} `);
    const largest = (HEAP_MIB * 1_048_576) / 256;
    expect(readConfig({ BODY_LIMIT: String(largest) }).bodyLimit).toBe(largest);
  });

  test.each([
    ['PORT', ['-1', '3e3', '3000.0', ' 3000', '0x50', 'http']],
    ['REQUEST_TIMEOUT', ['0', '999ms', '3601', '2h', '10 s', '10S', '1.5s', '-1s', 's', '9999999999999']],
    ['SHUTDOWN_DELAY', ['61m', '1y', '-1']],
    ['BASE_PATH', ['/a b', '/a?b', 'x', '//', '/.', '/..', '/a/../b', '/a/./b', '/a/..', '/readyz', '/livez/']],
    ['BODY_LIMIT', ['0', '4194305', '268435456', '1MB']],
    ['NODE_ENV', ['prod', 'Production']],
    ['METRICS_PORT', ['-1', '65536', 'off']],
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      ['grpc://collector', 'collector', 'localhost:4318/v1/traces', 'http://collector:65536'],
    ],
    ['DIRECT_URL', ['localhost', 'postgres://localhost/x?pgbouncer=true']],
    ['DATABASE_URL', ['localhost', 'mysql://localhost/x', 'postgres//x', 'postgres://localhost/x?pgbouncer=1']],
    [
      'RATE_LIMIT',
      [
        '600',
        '0/60',
        '600/0',
        '600/60/60',
        '6e2/60',
        '-1/60',
        '600 / 60',
        '600/500ms',
        '600/1500ms',
        '600/8d',
        '600/m',
      ],
    ],
    ['TRUST_PROXY', ['10', '-1', 'true', '10.0.0.0/33', '10.0.0/8', '::/0', 'loopback,', '10.0.0.1/8/8']],
    [
      'TRUST_PROXY',
      [
        '10.0.0.0/0',
        '10.0.0.0/00',
        '10.0.1',
        '010.0.0.1',
        '0x0a.0.0.1',
        '::/129',
        '[::1]',
        '10.0.0.0/-1',
        '10.0.0.256',
      ],
    ],
    [
      'CORS_ORIGINS',
      [
        '*',
        'https://*.garden.example',
        'null',
        'garden.example',
        'https://garden.example/',
        'https://a.example b',
        'file:///',
      ],
    ],
    ['AUTH_JWKS_URL', ['jwks.json', 'http://login.example.com/jwks.json', 'http://127.0.0.1.evil/x', 'file:///x']],
  ])('%s is refused when it is wrong', (name, values) => {
    for (const value of values) expect(message({ [name]: value })).toMatch(new RegExp(`\n${name} is `));
  });

  test('does not show the password of a wrong DATABASE_URL', () => {
    expect(message({ DATABASE_URL: 'mysql://me:secret@localhost/x' })).not.toContain('secret');
  });

  test.each(['DATABASE_URL', 'DIRECT_URL'])(
    '%s: characters that must be encoded, and no part of a password',
    (name) => {
      const passwords = ['/', '?', '#', '%', '@', ' ', '\\', '\t', '\n', '%zz', '%ff', '%00', '/@', '?a=b&', '//'].map(
        (text) => `12${text}secretpart`,
      );
      for (const url of [
        ...passwords.map((password) => `postgresql://owner:${password}@host:5432/db`),
        ...passwords.map((password) => `postgresql://${password}:x@host/db`),
        'postgresql:owner:secretpart@host/db',
        'postgresql:/owner:secretpart@host/db',
        'postgresql:///secretpart@host/db',
        'postgresql://owner:secretpart',
        'postgresql://owner:secretpart@',
        'postgresql://owner:secretpart@/db?schema=host',
        'postgresql://host/db?user=owner&password=12@secretpart',
        'postgresql://host/db?user=owner&password=12#secretpart',
        'owner:secretpart@host/db',
      ]) {
        const text = message({ DATABASE_URL: 'postgresql://host/db', [name]: url });
        expect(text).toMatch(
          new RegExp(`^The configuration is wrong:\n${name} is wrong .* must be percent-encoded .*$`),
        );
        expect(text).not.toContain('secretpart');
      }
    },
  );

  test('PGSSLMODE is one that the driver knows', () => {
    const DATABASE_URL = 'postgresql://host/db';
    expect(message({ DATABASE_URL, PGSSLMODE: 'verify_full' })).toMatch(
      /\nPGSSLMODE is "verify_full" and must be one of disable, .*, verify-full, no-verify$/,
    );
    for (const PGSSLMODE of ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'])
      expect(readConfig({ DATABASE_URL, PGSSLMODE }).databaseUrl).toBe(DATABASE_URL);
    expect(readConfig({ PGSSLMODE: 'verify_full' }).databaseUrl).toBeUndefined();
  });

  test.each([
    ['AUTH_JWKS_URL', 'https://user:secretpart@login.example/jwks.json'],
    ['AUTH_JWKS_URL', 'https://user:12/secretpart@login.example/jwks.json'],
    ['AUTH_JWKS_URL', 'http://login.example/jwks.json?key=secretpart'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:12/secretpart@collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://collector:4318?key=secretpart'],
    ['CORS_ORIGINS', 'https://user:secretpart@garden.example'],
    ['PORT', 'postgresql://owner:12@secretpart/db'],
    ['METRICS_PORT', 'https://collector/?key=secretpart'],
  ])('does not show a secret in a wrong %s', (name, value) => {
    const text = message({ AUTH_ISSUER: 'a', AUTH_AUDIENCE: 'b', AUTH_JWKS_URL: 'https://c/', [name]: value });
    expect(text).toMatch(new RegExp(`\n${name} is wrong and must be `));
    expect(text).not.toContain('secretpart');
  });

  test('requires DATABASE_URL if DIRECT_URL is set, which it does not show', () => {
    expect(message({ DIRECT_URL: 'postgres://me:secret@db/x' })).toMatch(
      /\nDATABASE_URL is not set .* DIRECT_URL is set$/,
    );
    expect(message({ DIRECT_URL: 'mysql://me:secret@db/x' })).not.toContain('secret');
  });

  test('requires DATABASE_URL in production', () => {
    expect(message({ NODE_ENV: 'production' })).toMatch(/\nDATABASE_URL is not set/);
    expect(readConfig({ NODE_ENV: 'production', DATABASE_URL: 'postgres://db/x' }).environment).toBe('production');
  });

  test('takes all of an identity provider or nothing, and names what is missing', () => {
    const provider = { AUTH_ISSUER: 'https://a', AUTH_AUDIENCE: 'b', AUTH_JWKS_URL: 'https://a/keys' };
    expect(readConfig(provider).identityProvider).toEqual({
      issuer: 'https://a',
      audience: 'b',
      jwksUrl: 'https://a/keys',
    });
    expect(readConfig({ ...provider, AUTH_JWKS_URL: 'http://[::1]:8080/keys' }).identityProvider?.jwksUrl).toBe(
      'http://[::1]:8080/keys',
    );
    expect(readConfig({}).identityProvider).toBeUndefined();
    expect(message({ ...provider, AUTH_AUDIENCE: '' })).toMatch(
      /:\nAUTH_AUDIENCE is not set and .+, because AUTH_ISSUER and AUTH_JWKS_URL are set$/,
    );
    expect(message({ AUTH_ISSUER: 'https://a' })).toMatch(/:\nAUTH_AUDIENCE is .+ is set\nAUTH_JWKS_URL is .+ is set$/);
  });
});

test('the lines of .env.example are the defaults, and a valid .env file', () => {
  const example = parseEnv(readFileSync('.env.example', 'utf8').replace(/^#(?=[A-Z_]+=)/gm, ''));
  expect(Object.keys(example)).toEqual(expect.arrayContaining(variableNames));
  expect(readConfig(example)).toEqual(readConfig({}));
});
