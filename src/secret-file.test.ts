import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

import { readSecretFile, writeSecretFile } from './secret-file.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secret-file-'));
  path = join(folder, 'secret');
});
afterEach(() => rmSync(folder, { recursive: true }));

const mode = () => (statSync(path).mode & 0o777).toString(8);

test('writes a file that only its owner can read, also in place of one that others can read', () => {
  writeSecretFile(path, 'one');
  expect([mode(), readFileSync(path, 'utf8')]).toEqual(['600', 'one']);
  chmodSync(path, 0o644);
  const inode = statSync(path).ino;
  writeSecretFile(path, 'two');
  expect([mode(), readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['600', 'two', ['secret']]);
  // Whoever has opened the old file reads the old text.
  expect(statSync(path).ino).not.toBe(inode);
});

test('the error names the file, so that it can be told where there is no space', () => {
  path = join(folder, 'none', 'secret');
  expect(() => writeSecretFile(path, 'one')).toThrow(expect.objectContaining({ code: 'ENOENT', path }));
});

test('does not write through a link that somebody else has put there', () => {
  const target = join(folder, 'target');
  writeFileSync(target, '');
  symlinkSync(target, `${path}.new`);
  symlinkSync(target, path);
  writeSecretFile(path, 'secret');
  expect([readFileSync(target, 'utf8'), mode()]).toEqual(['', '600']);
});

test('leaves nothing behind if it cannot write', () => {
  mkdirSync(path);
  expect(() => writeSecretFile(path, 'secret')).toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
  expect(existsSync(`${path}.new`)).toBe(false);
});

test('takes a file away from others when it reads it', () => {
  writeFileSync(path, 'secret');
  chmodSync(path, 0o644);
  expect([readSecretFile(path), mode()]).toEqual(['secret', '600']);
});
