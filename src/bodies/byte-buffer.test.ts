import { expect, test } from '@jest/globals';
import { createByteBuffer } from './byte-buffer.ts';

const filled = (limit: number, ...parts: string[]) => {
  const buffer = createByteBuffer(limit);
  for (const part of parts) buffer.add(Buffer.from(part));
  return buffer;
};

test('returns all bytes in order, and is empty afterwards', () => {
  const buffer = filled(100_000, 'a', '', 'b'.repeat(5000), 'c');
  expect(buffer.size()).toBe(5002);
  expect(String(buffer.take())).toBe(`a${'b'.repeat(5000)}c`);
  expect([buffer.size(), String(buffer.take())]).toEqual([0, '']);
});

test('does not copy a single part, and does not change it afterwards', () => {
  const part = Buffer.from('part');
  const buffer = createByteBuffer(100);
  buffer.add(part);
  expect(buffer.take()).toBe(part);
  buffer.add(part);
  buffer.add(Buffer.from('!'));
  expect([String(buffer.take()), String(part)]).toEqual(['part!', 'part']);
});

test('bytes that were taken stay as they are', () => {
  const buffer = filled(100, 'a', 'b');
  const taken = buffer.take();
  buffer.add(Buffer.from('c'));
  buffer.add(Buffer.from('d'));
  expect([String(taken), String(buffer.take())]).toEqual(['ab', 'cd']);
});

test.each([[['abcd']], [['ab', 'cd']], [['abc', 'd', 'e'.repeat(9000)]]])(
  'drops %j, over its limit of 3 bytes',
  (parts) => {
    const buffer = filled(3, ...parts);
    expect(buffer.size()).toBe(parts.join('').length);
    expect(buffer.take()).toBeUndefined();
    expect(buffer.add(Buffer.from('abc'))).toBe(true);
    expect(buffer.add(Buffer.from('d'))).toBe(false);
  },
);

test('a million parts of one byte take little more memory than the bytes', () => {
  const before = process.memoryUsage().arrayBuffers;
  const buffer = createByteBuffer(1_000_000);
  const part = Buffer.from('a');
  for (let added = 0; added < 1_000_000; added++) buffer.add(part);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8_000_000);
  expect(buffer.take()).toHaveLength(1_000_000);
});
