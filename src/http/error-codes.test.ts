import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { errorCodes } from './error-codes.ts';

const descriptions = Object.values(errorCodes);

test('README.md lists every error as the table has it, in the order of codes', () => {
  const readme = readFileSync('README.md', 'utf8').replaceAll('`', '');
  const listed = [...readme.matchAll(/^\| (\d{4}) \| (\d{3}) \| (.+) \|$/gm)].map((row) => row.slice(1, 4));
  expect(listed).toEqual(descriptions.map(({ code, status, when }) => [String(code), String(status), when]));
});

test('no code and no title stands for two errors', () => {
  for (const part of ['code', 'title'] as const) {
    const values = descriptions.map((description) => description[part]);
    expect(new Set(values).size).toBe(values.length);
  }
});
