import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { errors } from './errors.ts';

test('the README lists every error, in the order of codes', () => {
  const readme = readFileSync('README.md', 'utf8').replaceAll('`', '');
  const listed = [...readme.matchAll(/^\| (\d{4}) \| (\d{3}) \| (.+) \|$/gm)].map((row) => row.slice(1, 4));
  expect(listed).toEqual(Object.values(errors).map(({ code, status, when }) => [String(code), String(status), when]));
});

test('codes and titles are unique', () => {
  for (const part of ['code', 'title'] as const) {
    const values = Object.values(errors).map((error) => error[part]);
    expect(new Set(values).size).toBe(values.length);
  }
});
