import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createElementReader, createNdjsonReader } from './read-json.ts';
import { readRows } from './read-rows.ts';

const LIMIT = 2 ** 26;

const read = async (pieces: AsyncIterable<Buffer>) =>
  (await Array.fromAsync(readRows(pieces, { format: 'json', maxLineBytes: LIMIT }))).flat();

const once = async function* (text: string) {
  yield Buffer.from(text);
};

const rowsOf = (text: string) => read(once(text));

const parseArray = (text: string) => [...createElementReader(LIMIT)(text, true)].map(({ value }) => value);

describe('a JSON array', () => {
  test('has a row for each element, with its number as the line', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, '\t'), async (elements, indent) => {
        const rows = await rowsOf(JSON.stringify(elements, null, indent));
        expect(rows.map(({ line }) => line)).toEqual(elements.map((_, index) => index + 1));
      }),
    );
  });

  test('has failed rows for the elements that are wrong', async () => {
    expect(await rowsOf('[{"id":1,"name":"Fir"},{"id":2},[{"id":3,"name":""}],null]')).toEqual([
      { line: 1, plant: { id: 1n, name: 'Fir' } },
      { line: 2, id: 2n, error: 1003, message: 'name is required.' },
      { line: 3, error: 1003, message: 'The element must be a JSON object, not an array of 1 values.' },
      { line: 4, error: 1003, message: 'The element must be a JSON object, not null.' },
    ]);
  });

  test('is refused unless it is JSON as a whole', () => {
    const pieces = fc.constantFrom('[', ']', '{', '}', ',', ':', '"', '\\', '"id"', '1', 'null', ' ', '\u00a0', '\n');
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        let parsed: unknown;
        try {
          parsed = JSON.parse(text);
        } catch {}
        if (Array.isArray(parsed)) expect(parseArray(text)).toHaveLength(parsed.length);
        else expect(() => parseArray(text)).toThrow(expect.objectContaining({ code: 1000 }));
      }),
      { numRuns: 3000 },
    );
  });

  test.each([
    ['', /^The file is not a JSON array of plants\. If it is NDJSON or CSV, /],
    ['[{"id":1]}', /^The file is not JSON: its array does not end with \]\.$/],
    ['[{"id":1},{"id":2,}]', /^The text of element 2 is not JSON: .+[^.]\.$/],
    ['[{"id":1},]', /^The text of element 2 is not JSON: .+[^.]\.$/],
    ['{"id":1,"name":"Fir"}', /^The file is not a JSON array of plants\. /],
    ['id,name\n1,Fir', /^The file is not a JSON array of plants\. /],
  ])('is not %j', (text, message) => {
    expect(() => parseArray(text)).toThrow(message);
  });

  test('whose end is wrong has the rows before', async () => {
    const read: unknown[] = [];
    const readAll = async () => {
      for await (const rows of readRows(once('[{"id":"x","name":"Fir"},{]'), { format: 'json', maxLineBytes: LIMIT }))
        read.push(...rows);
    };
    await expect(readAll()).rejects.toMatchObject({ code: 1000 });
    expect(read).toMatchObject([{ line: 1, error: 1003 }]);
  });

  test('may have any number of elements, but none of any number of values or levels', async () => {
    const shortest = Array.from({ length: 200_000 }, () => '{"id":1,"name":""}');
    expect(parseArray(`[${shortest}]`)).toHaveLength(200_000);
    const tooComplex = expect.objectContaining({ code: 1002 });
    expect(() => parseArray(`[1,[${'[],'.repeat(10_000)}1]]`)).toThrow(tooComplex);
    expect(() => parseArray(`[1,${'['.repeat(101)}]`)).toThrow(tooComplex);
  });

  test('has exact ids, and its elements are parsed in turns, however different they are', async () => {
    const others = Array.from({ length: 35_000 }, (_, index) => `{"id":-9223372036854775808,"x${index}":1}`);
    const array = `[{"id":9223372036854775807,"name":""},${others}]`;
    let turns = 0;
    const count = () => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const rows = await rowsOf(array);
    clearImmediate(next);
    expect(rows).toHaveLength(35_001);
    expect(rows[0]).toEqual({ line: 1, plant: { id: 9223372036854775807n, name: '' } });
    expect(rows[35_000]).toMatchObject({ line: 35_001, id: -9223372036854775808n, error: 1003 });
    expect(turns).toBeGreaterThan(5);
  });

  test('is gathered from pieces', async () => {
    async function* pieces() {
      for (const byte of Buffer.from('[{"id":1,"name":"Tänne 🌲"}]')) yield Buffer.of(byte);
    }
    expect(await read(pieces())).toEqual([{ line: 1, plant: { id: 1n, name: 'Tänne 🌲' } }]);
  });
});

test('a line of NDJSON that is too long is not kept', () => {
  const read = createNdjsonReader({ maxLineBytes: 1000 });
  // Together they are longer than a string can be.
  const piece = 'x'.repeat(2 ** 26);
  for (let count = 0; count < 9; count++) expect([...read(piece, false)]).toEqual([]);
  expect([...read('\n', true)]).toMatchObject([{ line: 1, error: 1002 }]);
});

test.each([
  [
    'a JSON array with an element on each line, of which only the last would be stored',
    '[\n{"id":1,"name":"Fir"},\n{"id":2,"name":"Yew"}\n]\n',
    'a JSON array',
  ],
  ['one whose first line has an element', '[{"id":1,"name":"Fir"},\n{"id":2,"name":"Yew"}]\n', 'a JSON array'],
  ['CSV', 'id,name\n17,Fir\n', '--format csv'],
  ['CSV of a spreadsheet', '"Name";"Id"\r\n"Fir";17\r\n', '--format csv'],
  ['UTF-16 without a byte order mark', '{\0"\0i\0d\0"\0:\x001\0}\0\n\0', 'utf-16le'],
])('NDJSON refuses %s as a whole', (_title, text, advice) => {
  const readLines = () => [...createNdjsonReader({ maxLineBytes: LIMIT })(text, true)];
  expect(readLines).toThrow(expect.objectContaining({ code: 1000, message: expect.stringContaining(advice) }));
});
