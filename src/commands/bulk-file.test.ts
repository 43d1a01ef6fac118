import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { failToWrite, formatOf, importFormats, readFileBytes, writeFileBytes } from './bulk-file.ts';

test.each([
  ['plants.gz', 'csv', { format: 'csv', isCompressed: true }],
  ['/data/PLANTS.GZ', 'ndjson', { format: 'ndjson', isCompressed: true }],
  ['plants.json.gz', undefined, { format: 'json', isCompressed: true }],
  ['a.gz/plants.csv', undefined, { format: 'csv', isCompressed: false }],
  ['csv', 'ndjson', { format: 'ndjson', isCompressed: false }],
  ['-', undefined, { format: 'ndjson', isCompressed: false }],
] as const)('the format of %s, given %p', (file, given, format) => {
  expect(formatOf(new Command(), file, importFormats, given)).toEqual(format);
});

test.each(['csv', 'plants.gz', 'csv.gz', 'plants.csv.zip'])('%s implies no format', (file) => {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  expect(() => formatOf(command, file, importFormats)).toThrow(/cannot tell the format/);
});

test.each(['write', 'ftruncate', 'fsync', 'close'])('a disk that fails at %s: a sentence', (syscall) => {
  const error = Object.assign(new Error(`EDQUOT: disk quota exceeded, ${syscall}`), { code: 'EDQUOT', syscall });
  expect(() => failToWrite('plants.csv')(error)).toThrow(`plants.csv cannot be written: ${error.message}`);
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plant-store-bulk-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('writeFileBytes', () => {
  const write = (bytes: AsyncIterable<Buffer>) =>
    writeFileBytes(join(folder, 'all.csv'), { format: 'csv', isCompressed: false }, { bytes, signal });
  const { signal } = new AbortController();
  const content = () => readFileSync(join(folder, 'all.csv'), 'utf8');

  test('a file that is protected against writing stays as it is', async () => {
    writeFileSync(join(folder, 'all.csv'), 'before');
    chmodSync(join(folder, 'all.csv'), 0o444);
    // Anyone may rename into it.
    chmodSync(folder, 0o777);
    // Root may write to every file.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      await expect(write(Readable.from([Buffer.from('after')]))).rejects.toThrow(/all\.csv cannot be written: EACCES/);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
    expect([content(), readdirSync(folder)]).toEqual(['before', ['all.csv']]);
  });

  test('a file that is replaced keeps its mode, whatever the umask', async () => {
    writeFileSync(join(folder, 'all.csv'), '');
    chmodSync(join(folder, 'all.csv'), 0o646);
    await write(Readable.from([Buffer.from('id,name,tag\n')]));
    expect([content(), statSync(join(folder, 'all.csv')).mode & 0o777]).toEqual(['id,name,tag\n', 0o646]);
  });

  test('two at once to the same file, and a leftover of a killed one, do not disturb each other', async () => {
    const leftover = `all.csv.${process.pid}.part`;
    writeFileSync(join(folder, leftover), '');
    const bothStarted = Promise.withResolvers<void>();
    let started = 0;
    const bytesOf = async function* (text: string): AsyncGenerator<Buffer> {
      started += 1;
      if (started === 2) bothStarted.resolve();
      await bothStarted.promise;
      yield Buffer.from(text);
    };
    await Promise.all([write(bytesOf('first')), write(bytesOf('other'))]);
    expect(content()).toMatch(/^(first|other)$/);
    expect(readdirSync(folder).sort()).toEqual(['all.csv', leftover]);
  });

  test('keeps the mode and the owner of a file that exists: a private one stays private', async () => {
    writeFileSync(join(folder, 'all.csv'), 'before', { mode: 0o600 });
    const owner = process.getuid?.() === 0 ? 65_534 : process.getuid?.();
    if (owner === 65_534) chownSync(join(folder, 'all.csv'), owner, owner);
    await write(Readable.from([Buffer.from('after')]));
    const { mode, uid } = statSync(join(folder, 'all.csv'));
    expect([content(), mode & 0o777, uid]).toEqual(['after', 0o600, owner]);
  });

  test('replaces the file that a link leads to, and keeps the link', async () => {
    writeFileSync(join(folder, 'monday.csv'), 'before');
    symlinkSync('monday.csv', join(folder, 'all.csv'));
    await write(Readable.from([Buffer.from('after')]));
    expect(readlinkSync(join(folder, 'all.csv'))).toBe('monday.csv');
    expect([readdirSync(folder).sort(), content()]).toEqual([['all.csv', 'monday.csv'], 'after']);
  });

  test('one that fails leaves nothing but the file as it was', async () => {
    writeFileSync(join(folder, 'all.csv'), 'before');
    const failing = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from('half');
      throw new Error('no more');
    };
    await expect(write(failing())).rejects.toThrow('no more');
    expect([readdirSync(folder), content()]).toEqual([['all.csv'], 'before']);
  });
});

describe('a pipe that nobody else uses', () => {
  const report = (signal: AbortSignal) => ({ signal, progress: { bytes: 0 } });
  const interrupt = () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('Interrupted')), 100);
    return controller.signal;
  };

  test('does not keep a command that is interrupted', async () => {
    const pipe = join(folder, 'pipe');
    spawnSync('mkfifo', [pipe]);
    for (const isCompressed of [false, true]) {
      const read = Array.fromAsync(readFileBytes(pipe, { isCompressed }, report(interrupt())));
      await expect(read).rejects.toThrow('Interrupted');
    }
    const writer = await open(pipe, 'r+');
    const idle = Array.fromAsync(readFileBytes(pipe, { isCompressed: false }, report(interrupt())));
    await expect(idle).rejects.toThrow('Interrupted');
    await writer.close();
    const bytes = (async function* () {
      yield Buffer.from('x');
    })();
    const file = { format: 'ndjson', isCompressed: false } as const;
    await expect(writeFileBytes(pipe, file, { bytes, signal: interrupt() })).rejects.toThrow('Interrupted');
  });
});
