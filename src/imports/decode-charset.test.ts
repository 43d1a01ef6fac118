import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeCharset } from './decode-charset.ts';

async function* piecesOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

const decode = async (...[bytes, size, charset]: [Buffer, number, Parameters<typeof decodeCharset>[1]]) =>
  Buffer.concat(await Array.fromAsync(decodeCharset(piecesOf(bytes, size), charset))).toString();

describe('decodeCharset', () => {
  test('reads utf-16le, wherever the bytes are split', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 9 }), async (text, size) => {
        const marked = `\ufeff${text.toWellFormed()}`;
        expect(await decode(Buffer.from(marked, 'utf16le'), size, 'utf-16le')).toBe(text.toWellFormed());
      }),
    );
  });

  test('reads windows-1252, including the characters that ISO 8859-1 lacks', async () => {
    const bytes = Buffer.from([0x80, 0x8a, 0x9f, 0xe9, 0xff, 0x41]);
    expect(await decode(bytes, 1, 'windows-1252')).toBe('€ŠŸéÿA');
  });

  test('leaves UTF-8 as it is', () => {
    const pieces = piecesOf(Buffer.from([0xff]), 1);
    expect(decodeCharset(pieces)).toBe(pieces);
  });

  test.each([
    ['an unpaired surrogate', Buffer.from([0x41, 0, 0, 0xd8, 0x41, 0])],
    ['half a character at the end', Buffer.from([0x41])],
  ])('refuses %s in utf-16le, with the line, whichever line ends there are', async (_title, wrong) => {
    for (const text of ['a\nb\n', 'a\rb\r', 'a\r\nb\r\n', '\r\n\r']) {
      const bytes = Buffer.concat([Buffer.from(text, 'utf16le'), wrong]);
      await expect(decode(bytes, 2, 'utf-16le')).rejects.toMatchObject({
        code: 1000,
        message: 'The file is not utf-16le, somewhere after line 2.',
      });
    }
  });
});
