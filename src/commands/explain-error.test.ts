import { readFileSync, rmdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { readConfig } from '../config/config.ts';
import { OperationalError } from '../operational-error.ts';
import { explainError } from './explain-error.ts';

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
