import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { countLineEnds, createTextDecoder } from './decode-text.ts';

/** Decodes the bytes in pieces. @param onText called with the text of each */
const decodePieces = async (bytes: Buffer, size: number, onText: (text: string) => void, encoding?: string) => {
  const decodePiece = await createTextDecoder(encoding);
  for (let start = 0; start < bytes.length; start += size) onText(decodePiece(bytes.subarray(start, start + size)));
  onText(decodePiece());
};

const decode = async (bytes: Buffer, size: number, encoding?: string) => {
  let all = '';
  await decodePieces(bytes, size, (text) => (all += text), encoding);
  return all;
};

const ADVICE =
  'If it is in another encoding, such as windows-1252 or utf-16le, state it, or convert the file to UTF-8.';

describe('a decoder of text', () => {
  test.each(['utf-8', 'utf-16le'] as const)('reads %s, wherever the bytes are split', async (encoding) => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 9 }), async (any, size) => {
        const text = any.toWellFormed();
        expect(await decode(Buffer.from(`\ufeff${text}`, encoding), size, encoding)).toBe(text);
      }),
    );
  });

  test('drops only the byte order mark at the beginning', async () => {
    for (const size of [1, 2, 100])
      expect(await decode(Buffer.from('\ufeff\ufeffa\ufeff'), size)).toBe('\ufeffa\ufeff');
  });

  test.each<[string, string, number[]]>([
    ['windows-1252', 'utf-8', [0xef, 0xbb, 0xbf, 0xc3, 0xa9]],
    ['us-ascii', 'utf-8', [0xef, 0xbb, 0xbf, 0xc3, 0xa9]],
    ['utf-16le', 'utf-16be', [0xfe, 0xff, 0x00, 0xe9]],
    ['utf-16be', 'utf-16le', [0xff, 0xfe, 0xe9, 0x00]],
  ])('a byte order mark outranks %s: %s', async (stated, _encoding, bytes) => {
    for (const size of [1, 2, 3, 100]) expect(await decode(Buffer.from(bytes), size, stated)).toBe('é');
  });

  test('does not split a character of four bytes', async () => {
    const bytes = Buffer.from('a🌲b');
    for (let size = 1; size < bytes.length; size++) {
      const texts: string[] = [];
      await decodePieces(bytes, size, (text) => texts.push(text));
      expect(texts.every((text) => text.isWellFormed())).toBe(true);
      expect(texts.join('')).toBe('a🌲b');
    }
  });

  test.each([
    ['windows-1252', [0x80, 0x8a, 0x9f, 0xe9, 0xff, 0x41], '€ŠŸéÿA'],
    ['shift_jis', [0x83, 0x82, 0x83, 0x7e, 0x0a], 'モミ\n'],
    ['iso-8859-2', [0xb3, 0x61], 'ła'],
    ['utf-16be', [0xfe, 0xff, 0x00, 0x41, 0xd8, 0x3c, 0xdf, 0x32], 'A🌲'],
    ['gb18030', [0xcb, 0xc9], '松'],
    ['us-ascii', [0x41, 0x7f, 0x0a], 'A\x7f\n'],
    // Node.js and ICU read others.
    ['euc-kr', [0x8c, 0x63, 0xb9, 0xe6, 0xb0, 0xa2, 0xc7, 0xcf], '똠방각하'],
    ['big5', [0x8b, 0xc3, 0xc6, 0xa1], '\u{2f878}①'],
    ['shift_jis', [0x1a, 0x1c, 0x7f], '\x1a\x1c\x7f'],
  ])('reads %s', async (encoding, bytes, text) => {
    for (const size of [1, 3, 100]) expect(await decode(Buffer.from(bytes), size, encoding)).toBe(text);
  });

  test.each([
    ['utf-8', 'a byte that is none of UTF-8', Buffer.from([0x41, 0xff, 0x41])],
    ['utf-8', 'half a character at the end', Buffer.from([0xf0, 0x9f, 0x8c])],
    ['us-ascii', 'a byte above 0x7f', Buffer.from('é')],
    ['utf-16le', 'an unpaired surrogate', Buffer.from([0x41, 0, 0, 0xd8, 0x41, 0])],
    ['utf-16le', 'half a character at the end', Buffer.from([0x41])],
    ['shift_jis', 'half a character at the end', Buffer.from([0x82])],
    ['euc-jp', 'a byte that is none of it', Buffer.from([0x80])],
  ])('refuses in %s %s, with the line, whichever line ends there are', async (encoding, _title, wrong) => {
    for (const text of ['a\nb\n', 'a\rb\r', 'a\r\nb\r\n', '\r\n\r', '\n\n']) {
      const bytes = Buffer.concat([Buffer.from(text, encoding === 'utf-16le' ? 'utf16le' : 'latin1'), wrong]);
      for (const size of [1, 2, 3, 100]) {
        await expect(decode(bytes, size, encoding)).rejects.toMatchObject({
          code: 1000,
          message: `The file is not ${encoding}, somewhere after line 2. ${ADVICE}`,
        });
      }
    }
  });

  test('says that a file is compressed, a workbook, or wrong in its first line', async () => {
    const messageOf = (bytes: Buffer) => decode(bytes, 100).catch(({ message }: Error) => message);
    expect(await messageOf(gzipSync('id,name'))).toMatch(
      /^The file is compressed with gzip\. Send Content-Encoding: gzip;/,
    );
    // All bytes of some could be characters of UTF-8 or windows-1252.
    for (const [start, message] of [
      ['PK\x03\x04\xff', /^The file is a workbook or an archive/],
      ['PK\x03\x04\0\0', /^The file is a workbook or an archive/],
      ['\xd0\xcf\x11\xe0', /^The file is a workbook \(\.xls\)/],
      ['PAR1\x15\x04', /^The file is in the format Parquet/],
      ['\x28\xb5\x2f\xfd', /^The file is compressed with zstd/],
      ['\xfd7zXZ\0\0', /^The file is compressed with xz/],
      ['BZh91AY&SY', /^The file is compressed with bzip2/],
    ] as const)
      expect(await messageOf(Buffer.from(start, 'latin1'))).toMatch(message);
    expect(await messageOf(Buffer.from('é,a', 'latin1'))).toBe(`The file is not utf-8. ${ADVICE}`);
  });

  test('hands on what precedes a piece that is wrong', async () => {
    const seen: string[] = [];
    const reading = decodePieces(Buffer.from('1,a\n2,b\n3,\xe4\n', 'latin1'), 4, (text) => seen.push(text));
    await expect(reading).rejects.toMatchObject({ message: expect.stringContaining('after line 2.') });
    expect(seen).toEqual(['1,a\n', '2,b\n']);
  });
});

test('line ends are counted, also if a CRLF is split', () => {
  expect(['', 'a', '\n', '\r', '\r\n', '\n\r', '\r\r\n\n'].map((text) => countLineEnds(text))).toEqual([
    0, 0, 1, 1, 1, 2, 3,
  ]);
  expect([countLineEnds('\n', 13), countLineEnds('\r\n', 13), countLineEnds('\n', 10)]).toEqual([0, 1, 1]);
});
