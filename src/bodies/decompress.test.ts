import {
  brotliCompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  deflateSync,
  gzipSync,
} from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import type { Request } from 'express';
import fc from 'fast-check';
import { bodyDecompressor, decompressAll } from './decompress.ts';

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

  test.each([
    ['its reader stops', compress('Fir\n'.repeat(500)), true],
    ['it is not valid', Buffer.from('not compressed'), false],
  ])('closes its pieces if %s', async (_what, bytes, isValid) => {
    let isClosed = false;
    const pieces = async function* () {
      try {
        for (;;) yield bytes;
      } finally {
        isClosed = true;
      }
    };
    const readOne = async () => {
      for await (const _piece of decompressAll(pieces(), createStream())) break;
    };
    if (isValid) await readOne();
    else await expect(readOne()).rejects.toThrow();
    expect(isClosed).toBe(true);
  });

  describe('at once', () => {
    const decompressor = bodyDecompressor({ headers: { 'content-encoding': format } } as Request);
    const outcomeOf = async (read: () => Buffer | undefined | Promise<Buffer>) => {
      try {
        return (await read())?.toString();
      } catch (error) {
        return (error as Error).message;
      }
    };
    const streamed = (bytes: Buffer) =>
      outcomeOf(async () => Buffer.concat(await Array.fromAsync(decompressor?.stream(inPieces(bytes, 5)) ?? [])));

    test('is the same as in pieces, also for bodies that are cut, damaged, doubled or followed by others', async () => {
      const change = fc.oneof(
        fc.constant((bytes: Buffer) => bytes),
        fc.constant((bytes: Buffer) => Buffer.concat([bytes, bytes])),
        fc.integer({ min: 1, max: 60 }).map((length) => (bytes: Buffer) => bytes.subarray(0, length)),
        fc.uint8Array({ minLength: 1, maxLength: 9 }).map((more) => (bytes: Buffer) => Buffer.concat([bytes, more])),
        fc.tuple(fc.nat(60), fc.nat(255)).map(([index, byte]) => (bytes: Buffer) => {
          const damaged = Buffer.from(bytes);
          damaged[index % bytes.length] = byte;
          return damaged;
        }),
      );
      await fc.assert(
        fc.asyncProperty(fc.string({ maxLength: 300 }), change, async (text, changed) => {
          const body = changed(compress(text));
          expect(await outcomeOf(() => decompressor?.atOnce(body, 1_000_000))).toBe(await streamed(body));
        }),
        { numRuns: 200 },
      );
    });

    test('is limited to what the caller wants', () => {
      const body = compress('x'.repeat(1000));
      expect(decompressor?.atOnce(body, 1000)?.toString()).toBe('x'.repeat(1000));
      expect(decompressor?.atOnce(body, 999)).toBeUndefined();
    });
  });
});
