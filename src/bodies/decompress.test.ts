import {
  brotliCompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  deflateSync,
  gzipSync,
} from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { decompressAll } from './decompress.ts';

const formats = [
  ['gzip', gzipSync, createGunzip],
  ['deflate', deflateSync, createInflate],
  ['br', brotliCompressSync, createBrotliDecompress],
] as const;

async function* inPieces(bytes: Buffer, size: number) {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

describe.each(formats)('%s', (format, compress, createStream) => {
  const read = async (bytes: Buffer, size: number) =>
    Buffer.concat(await Array.fromAsync(decompressAll(inPieces(bytes, size), createStream()))).toString();

  test.each([1, 7, 1000])('is read to its end, in pieces of %i bytes', async (size) => {
    expect(await read(compress('Fir\n'.repeat(500)), size)).toBe('Fir\n'.repeat(500));
  });

  test.each([1, 7, 1000])('with data behind its end is an error, in pieces of %i bytes', async (size) => {
    const [one, two] = [compress('one\n'), compress('two\n')];
    await expect(read(Buffer.concat([one, Buffer.alloc(4), two]), size)).rejects.toThrow();
    if (format !== 'gzip') await expect(read(Buffer.concat([one, two]), size)).rejects.toThrow();
    else expect(await read(Buffer.concat([one, two]), size)).toBe('one\ntwo\n');
  });
});
