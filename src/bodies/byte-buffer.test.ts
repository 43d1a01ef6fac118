import { expect, test } from '@jest/globals';
import { createByteBuffer } from './byte-buffer.ts';

const filled = (limit: number, ...parts: string[]) => {
  const buffer = createByteBuffer(limit);
  for (const part of parts) buffer.add(Buffer.from(part));
  return buffer;
};

test('has all bytes in order', () => {
  const buffer = filled(100_000, 'a', '', 'b'.repeat(5000), 'c');
  expect(buffer.size()).toBe(5002);
  expect(String(buffer.bytes())).toBe(`a${'b'.repeat(5000)}c`);
  expect(filled(1).bytes()).toHaveLength(0);
});

test('does not copy a single part, and does not change it afterwards', () => {
  const part = Buffer.from('part');
  const buffer = createByteBuffer(100);
  buffer.add(part);
  expect(buffer.bytes()).toBe(part);
  buffer.add(Buffer.from('!'));
  expect([String(buffer.bytes()), String(part)]).toEqual(['part!', 'part']);
});

test.each([[['abcd']], [['ab', 'cd']], [['abc', 'd', 'e'.repeat(9000)]]])(
  'refuses %j, over its limit of 3 bytes',
  (parts) => {
    const buffer = createByteBuffer(3);
    const added = parts.filter((part) => buffer.add(Buffer.from(part)));
    expect(added).toEqual(parts.filter((_, index) => parts.slice(0, index + 1).join('').length <= 3));
    expect(String(buffer.bytes())).toBe(added.join(''));
  },
);

test('a million parts of one byte take little more memory than the bytes', () => {
  const before = process.memoryUsage().arrayBuffers;
  const buffer = createByteBuffer(1_000_000);
  const part = Buffer.from('a');
  for (let added = 0; added < 1_000_000; added++) buffer.add(part);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8_000_000);
  expect(buffer.bytes()).toHaveLength(1_000_000);
});
