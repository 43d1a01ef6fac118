import { describe, expect, test } from '@jest/globals';
import { databaseUrl, parseDuration } from './variable-kinds.ts';

test.each([
  ['0', 0],
  ['30', 30_000],
  ['500ms', 500],
  ['1s', 1000],
  ['45m', 2_700_000],
  ['12h', 43_200_000],
  ['30d', 2_592_000_000],
  ['2w', 1_209_600_000],
])('%s is %d ms', (text, duration) => expect(parseDuration(text)).toBe(duration));

test.each(['', 'd', '-1d', '1.5d', '30 d', '30D', '1y', '1M', '1 s', '30d ', '5m30s', '99999999999'])(
  '%j is not a duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

describe('databaseUrl', () => {
  const url = databaseUrl({ mayBePooled: true });
  const read = (text: string) => url.parse(text);

  test.each([
    'postgresql://owner:12%2F%3F%23%25%40%20%3Asecret@host:5432/db',
    'POSTGRES://owner@[::1]:5432/db?sslmode=disable&password=12%40secret',
    'postgresql://host',
    'postgresql:///db?host=/run/postgresql&user=owner',
    'postgresql://owner:s!$&(*+,;=~-_.:ecret@host/my%20db?options=-c search_path=x',
  ])('accepts %s', (text) => {
    expect(read(text)).toBe(new URL(text).href);
  });

  test.each([
    [
      'postgresql://owner:secret@/db?host=/run/postgresql',
      'postgresql://owner:secret@localhost/db?host=/run/postgresql',
    ],
    ['postgresql://owner@?a=b&host=/run', 'postgresql://owner@localhost?a=b&host=/run'],
    ['postgresql://host/db?sslrootcert=system&schema=a', 'postgresql://host/db?sslmode=verify-full&schema=a'],
    [
      'postgresql://host/db?sslmode=require&sslrootcert=system&sslmode=disable',
      'postgresql://host/db?&sslmode=verify-full&',
    ],
    ['postgresql://host/db?a=b&sslmode=require', 'postgresql://host/db?a=b&sslmode=verify-full'],
    ['postgresql://host/db?sslmode=prefer&c=d', 'postgresql://host/db?sslmode=verify-full&c=d'],
    ['postgresql://host/db?sslmode=no-verify', 'postgresql://host/db?sslmode=no-verify'],
    [
      'postgresql://host/db?uselibpqcompat=true&sslmode=require',
      'postgresql://host/db?uselibpqcompat=true&sslmode=require',
    ],
    ['postgresql://host/d%C3%A4%20b', 'postgresql://host/d%C3%A4%20b'],
  ])('reads %s as %s', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  test.each([
    '?SSLMODE=verify-full',
    '?sslmode=',
    '?sslrootcert=',
    '?sslmode=verify_full',
    '?a=b&sslRootCert=/a.crt',
    '?ssl-mode=REQUIRED',
    '?sslaccept=strict',
    '?requiressl=1',
    '?tls=true',
    '?useSSL=true',
    '?encrypt=true',
  ])('%s might not encrypt, so it is wrong', (query) => {
    expect(() => read(`postgresql://host/db${query}`)).toThrow();
    expect(url.description).toMatch(/TLS by \?sslmode=, in lower case/);
  });

  test.each([
    'postgresql://a,b/db',
    'postgresql://owner:secret@a:5432,b:5433/db',
    'postgresql://a,b',
    'postgresql://owner@localhost/db?host=a,b',
    'postgresql:///db?port=5432&host=a%2Cb',
    'postgresql://a/db?port=5432,5433',
    'postgresql:///db?host=a&host=b',
    'postgresql://a/db?target_session_attrs=read-write',
  ])('%s has several hosts: says what to use instead', (text) => {
    expect(() => read(text)).toThrow();
    expect(url.description).toMatch(/There must be one host, no service .*a proxy/);
  });

  test.each([
    'search_path=garden',
    'sslmode=require&currentSchema=garden',
    'searchpath=a',
    'current_schema=a',
    'dbname=a',
    'service=a',
  ])('%s, which other drivers read: says how to name the schema', (parameter) => {
    expect(() => read(`postgresql://owner@a/db?${parameter}`)).toThrow();
    expect(url.description).toMatch(/ A schema is named by \?schema=/);
  });

  test.each(['%3F', '%23', '%2f', '%40'])('the name of a database may not have %s', (character) => {
    expect(() => read(`postgresql://owner@a/d${character}b`)).toThrow();
    expect(url.description).toContain('the name of the database has none of / ? # @');
    expect(read(`postgresql://ow${character}ner:p${character}w@a/db`)).toContain(character);
  });

  test.each(['pg_foo', 'pg_temp', 'é'.repeat(32)])('a schema that PostgreSQL does not take: %s', (schema) => {
    expect(() => read(`postgresql://owner@a/db?schema=${schema}`)).toThrow();
    expect(url.description).toContain(' ?schema= (at most 63 bytes, and not pg_…)');
    const possible = `postgresql://owner@a/db?schema=PG_${schema.slice(0, -2)}`;
    expect(read(possible)).toBe(new URL(possible).href);
  });
});
