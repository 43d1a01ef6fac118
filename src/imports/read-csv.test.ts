import { describe, expect, test } from '@jest/globals';
import type { NewPlant } from '../plants/plant.ts';
import type { ImportRow } from './import.ts';
import { readRows } from './read-rows.ts';

const LIMIT = 1_048_576;

async function* chunksOf(bytes: Buffer, sizes: number[]): AsyncGenerator<Buffer> {
  let start = 0;
  for (let index = 0; start < bytes.length; index++) {
    const end = start + (sizes[index % sizes.length] ?? bytes.length);
    yield bytes.subarray(start, end);
    start = end;
  }
}

const allOf = async (turns: AsyncIterable<ImportRow[]>): Promise<ImportRow[]> => (await Array.fromAsync(turns)).flat();

const csv = (input: string | Buffer, sizes: number[] = [LIMIT], maxLineBytes = LIMIT): Promise<ImportRow[]> =>
  allOf(readRows(chunksOf(Buffer.from(input), sizes), { format: 'csv', maxLineBytes }));
const plantsOf = (rows: ImportRow[]) => rows.map((row) => ('plant' in row ? row.plant : row));

const TOO_FEW =
  'The row has 2 fields, but the header row has 3. If a spreadsheet left out empty ones at the end, move a column that is never empty, such as name, to the end.';

describe('CSV', () => {
  test('columns may be in any order, and unknown columns are ignored', async () => {
    const rows = await csv('tag,x,id,name\nAbies,1,1,Fir\n,2,2,Yew\n"",3,3,""\n');
    expect(plantsOf(rows)).toEqual([
      { id: 1n, name: 'Fir', tag: 'Abies' },
      { id: 2n, name: 'Yew', tag: undefined },
      { id: 3n, name: '', tag: '' },
    ]);
    expect(plantsOf(await csv('"name","id"\nFir,1'))).toEqual([{ id: 1n, name: 'Fir' }]);
  });

  test.each([',', ';', '\t'])('the delimiter %j is recognized, wherever the bytes are split', async (delimiter) => {
    const rows = ['id,name,tag', '1,"a; b\t ""c"", d",', '2,Yew,"Taxus, x"'];
    const split = (row: string) => row.replace(/("(?:[^"]|"")*")|,/g, (_, quoted) => quoted ?? delimiter);
    const plants = [
      { id: 1n, name: 'a; b\t "c", d', tag: undefined },
      { id: 2n, name: 'Yew', tag: 'Taxus, x' },
    ];
    for (const [start, firstLine] of [
      ['', 2],
      ['\ufeff', 2],
      ['\r\n\n', 4],
      [`sep=${delimiter}\r\n`, 3],
      [`\n"SEP=${delimiter}"\n`, 4],
    ] as const) {
      for (const size of [1, 7, 1000]) {
        const read = await csv(`${start}${rows.map(split).join('\r\n')}\r\n`, [size]);
        expect([plantsOf(read), read.map(({ line }) => line)]).toEqual([plants, [firstLine, firstLine + 1]]);
      }
    }
    // A header that fills two lines of its cell.
    for (const size of [1, 7, 1000]) {
      const [row] = await csv(split('"My ""notes""\r\n(new)",id,name\r\nold,1,Fir'), [size]);
      expect(row).toEqual({ line: 3, plant: { id: 1n, name: 'Fir' } });
    }
    // One line without an end.
    expect(await csv(split('id,name'))).toEqual([]);
  });

  test('rows whose fields are all empty are ignored, and so are empty fields behind the last column', async () => {
    const rows = await csv('id,name,tag,,\n,,,,\n1,Fir,,\n2,Yew,x,,"",\n,\n"",""\n3,Elm,,,x\n4,Oak\n');
    expect(rows).toMatchObject([
      { line: 3, plant: { id: 1n, name: 'Fir' } },
      { line: 4, plant: { id: 2n, name: 'Yew', tag: 'x' } },
      { line: 7, message: 'The row has 5 fields, but the header row has 3.' },
      { line: 8, message: TOO_FEW },
    ]);
  });

  test('columns are named regardless of case and surrounding blanks', async () => {
    const rows = await csv(' Tag ;"ID ";\u00a0NAME\nAbies;1;Fir\n');
    expect(plantsOf(rows)).toEqual([{ id: 1n, name: 'Fir', tag: 'Abies' }]);
  });

  test.each([';', 'tab'])('the given delimiter %j is used, whatever the header row looks like', async (delimiter) => {
    const file = `sep=,\nx,id,name|y,id,name|id|name\nx|y|7|Fir`.replaceAll(
      '|',
      delimiter === 'tab' ? '\t' : delimiter,
    );
    const bytes = chunksOf(Buffer.from(file), [LIMIT]);
    const rows = await allOf(readRows(bytes, { format: 'csv', maxLineBytes: LIMIT, delimiter }));
    expect(plantsOf(rows)).toEqual([{ id: 7n, name: 'Fir' }]);
  });

  test.each([
    ['id,name\n1,Fir', ';', 'id,name'],
    ['id;name;price, EUR\n1;Fir;2', ',', 'id;name;price, EUR'],
    ['sep=,\nid;name\n1;Fir', undefined, 'id;name'],
  ])('the message names a given delimiter that separates nothing as the reason: %j', async (file, delimiter, row) => {
    const rows = readRows(chunksOf(Buffer.from(file), [LIMIT]), { format: 'csv', maxLineBytes: LIMIT, delimiter });
    const said = `"${row}", which lacks id and name with the given delimiter. It must be like id,name,tag`;
    await expect(allOf(rows)).rejects.toThrow(said);
  });

  test('quotes, quoted line breaks and empty lines are read as in RFC 4180, with the line of each row', async () => {
    const rows = await csv('\ufeffid,name\r\n\r\n1,"a ""b"", c"\r\n\n2,"d\r\ne\n"\n3,f\n\n', [1]);
    expect(rows).toEqual([
      { line: 3, plant: { id: 1n, name: 'a "b", c' } },
      { line: 5, plant: { id: 2n, name: 'd\r\ne\n' } },
      { line: 8, plant: { id: 3n, name: 'f' } },
    ]);
  });

  const MUST = 'must be decimal digits with an optional sign, from -9223372036854775808 to 9223372036854775807';
  const ROUNDED = `was rounded by a spreadsheet (format the column as text) and ${MUST}`;
  const FORMATTED = `was formatted by a spreadsheet (format the column as text) and ${MUST}`;

  test.each([
    ...['1.0', '0x1', ' 1', '9223372036854775808', '--1', '1n', '1,00', '+', '1E', 'e3'].map((id) => [id, MUST]),
    ...['1e3', '1.23457E+18', '1,23457E+18', '-9.22337e18'].map((id) => [id, ROUNDED]),
    ...['1,000', '-1.234.567', '1 000', '1\u00a0000', "1'000"].map((id) => [id, FORMATTED]),
  ])('the id %j is refused with its value and the reason', async (id = '', reason = '') => {
    const [row] = await csv(`id,name\n"${id}",Fir`);
    expect(row).toEqual({ line: 2, error: 1003, message: `id ${reason}, not ${JSON.stringify(id)}.` });
  });

  test('an empty id is missing, and a long one is not copied', async () => {
    const rows = await csv(`id,name\n,Fir\n"",Fir\n${'0'.repeat(900_000)},Fir`);
    const required = { error: 1003, message: 'id is required.' };
    expect(rows.slice(0, 2)).toEqual([
      { line: 2, ...required },
      { line: 3, ...required },
    ]);
    expect(rows[2]).toEqual({
      line: 4,
      error: 1003,
      message: `id ${MUST}, not "${'0'.repeat(60)}"… (900,000 characters).`,
    });
  });

  test('ids are exact', async () => {
    const ids = ['9223372036854775807', '-9223372036854775808', '9007199254740993', '-0', '0', '+7', '007', '-01'];
    const rows = await csv(`id,name\n${ids.map((id) => `${id},x`).join('\n')}`);
    expect(plantsOf(rows).map((plant) => String((plant as NewPlant).id))).toEqual([
      ...ids.slice(0, 3),
      '0',
      '0',
      '7',
      '7',
      '-1',
    ]);
  });

  test('a row fails if its number of fields is wrong, or it is not a valid plant', async () => {
    const rows = await csv('id,name,tag\n1,a\n2,b,c,d\n" "\n4,x\0,\n5,x,y\n');
    expect(rows).toMatchObject([
      { line: 2, error: 1003, message: TOO_FEW },
      { line: 3, error: 1003 },
      { line: 4, error: 1003 },
      { line: 5, id: 4n, error: 1003 },
      { line: 6, plant: { id: 5n } },
    ]);
  });

  test('characters of several bytes are read, wherever the bytes are split and the text is parsed in parts', async () => {
    // Not a divisor of the size of the parts.
    const name = `a${'🌲é\ufeff'.repeat(500)}`;
    for (const size of [1, 7, 511, 100_000])
      expect(plantsOf(await csv(`id,name,tag\n1,${name},"${name}"`, [size]))).toEqual([{ id: 1n, name, tag: name }]);
  });

  test.each(['', '\ufeff'])(
    'utf-16le is recognized in the header row if the encoding is not stated: %j',
    async (mark) => {
      await expect(csv(Buffer.from(`${mark}id,name\n1,x`, 'utf16le'), [3])).rejects.toMatchObject({
        code: 1000,
        message: expect.stringMatching(/utf-16le.* state /),
      });
    },
  );

  const HEADER = 'The header row is';
  const EXAMPLE = 'It must be like id,name,tag, in any order, separated by commas, semicolons or tabs.';

  test.each([
    ['no column name', 'id\n1', 1003, `${HEADER} "id", which lacks name. ${EXAMPLE}`],
    ['a plant as the header row', '1,Fir\n', 1003, `${HEADER} "1,Fir", which lacks id and name. ${EXAMPLE}`],
    ['one of two columns', 'name;tag\n', 1003, `${HEADER} "name;tag", which lacks id. ${EXAMPLE}`],
    [
      'no line ends, as curl -d sends them',
      'id,name1,Fir2,Yew',
      1003,
      `${HEADER} "id,name1,Fir2,Yew", which lacks name. If line ends were lost on the way: curl -d removes them, curl --data-binary and -T keep them. ${EXAMPLE}`,
    ],
    ['another delimiter', 'id|name\n', 1003, `${HEADER} "id|name", which lacks id and name. ${EXAMPLE}`],
    [
      'another delimiter in the first line',
      'sep=|\nid|name\n',
      1003,
      'The first line is "sep=|", but fields must be separated by commas, semicolons or tabs.',
    ],
    [
      'two columns with the same name',
      'id,name,ID \n',
      1003,
      `${HEADER} "id,name,ID ", which names the column id twice. ${EXAMPLE}`,
    ],
    [
      'a quote within a field',
      'id,name\n1,a"b\n',
      1000,
      'The CSV has an invalid or unclosed quote in the row at line 2.',
    ],
    [
      'text after a quote',
      'id,name\n\n1,"a"b\n',
      1000,
      'The CSV has an invalid or unclosed quote in the row at line 3.',
    ],
    [
      'an unclosed quote',
      'id,name\n1,x\n2,"a\n',
      1000,
      'The CSV has an invalid or unclosed quote in the row at line 3.',
    ],
    [
      'an endless row',
      `id,name\n1,"${'x'.repeat(2 * LIMIT)}`,
      1002,
      `The row at line 2 must be at most ${LIMIT} bytes. Check for an unclosed quote.`,
    ],
    ['endless fields', `id,name\n1,x${','.repeat(2000)}`, 1002, 'The row at line 2 has more than 1000 fields.'],
  ])('%s: ends the import', async (_title, file, code, message) => {
    await expect(csv(file, [1000])).rejects.toMatchObject({ code, message });
  });

  test('yields the rows before the invalid quote', async () => {
    const rows: ImportRow[] = [];
    const reading = async () => {
      const bytes = chunksOf(Buffer.from('id,name\n1,Fir\n2,"'), [100]);
      for await (const some of readRows(bytes, { format: 'csv', maxLineBytes: LIMIT })) rows.push(...some);
    };
    await expect(reading()).rejects.toMatchObject({ code: 1000 });
    expect(rows).toHaveLength(1);
  });

  test.each(['\r', '\n', '\r\n'])('rows may end with %j, and fields keep their line breaks', async (end) => {
    const file = ['id,name,tag', '1,Fir,Abies', '', '2,"a\rb\r\nc\n","\r"', '3,Yew,', 'x'].join(end);
    const rows = [
      { line: 2, plant: { id: 1n, name: 'Fir', tag: 'Abies' } },
      { line: 4, plant: { id: 2n, name: 'a\rb\r\nc\n', tag: '\r' } },
      { line: 9, plant: { id: 3n, name: 'Yew', tag: undefined } },
      { line: 10, error: 1003 },
    ];
    for (const size of [1, 2, 3, 1000]) {
      expect(await csv(file, [size])).toMatchObject(rows);
      expect(await csv(file + end, [size])).toMatchObject(rows);
    }
    expect(await csv(`id,name${end}`, [1])).toEqual([]);
  });

  test.each(['\r', '\n', '\r\n'])(
    'a row with too many fields is named by its line, after empty lines: %j',
    async (end) => {
      const file = `id,name${end.repeat(3)}1,x${','.repeat(1000)}`;
      await expect(csv(file, [7])).rejects.toMatchObject({ message: 'The row at line 4 has more than 1000 fields.' });
    },
  );

  test('any number of empty lines may precede the header row', async () => {
    const rows = await csv(`${'\r\n'.repeat(20_000)}sep=;\r\nid;name\r\n1;Fir`, [10]);
    expect(rows).toEqual([{ line: 20_003, plant: { id: 1n, name: 'Fir' } }]);
  });

  test.each([
    [',,\nid,name,tag\n1,Fir,\n', 3],
    ['\r\n;;\r\n\t\r\nid;name\r\n1;Fir\r\n', 5],
    ['sep=;\r;\r\rid;name\r1;Fir', 5],
    ['   \n , \n id,name\n1,Fir', 4],
  ])('so may rows of empty fields: %j', async (file, line) => {
    for (const size of [1, 2, 3, 100])
      expect(await csv(file, [size])).toMatchObject([{ line, plant: { id: 1n, name: 'Fir' } }]);
  });

  test.each(['', '\n\n', ';;', ';;\r', '\n,\r\n,'])('a file of nothing else has no rows: %j', async (file) => {
    for (const size of [1, 100]) expect(await csv(file, [size])).toEqual([]);
  });

  test('a row may have as many bytes as the limit', async () => {
    const rows = await csv(`id,name\n1,${'x'.repeat(LIMIT - 1)}\n`, [65_536]);
    expect(rows).toMatchObject([{ plant: { id: 1n } }]);
  });

  test('the fields of a row share the limit', async () => {
    const file = (size: number) => `id,name,a,b\n1,${'x'.repeat(40)},${'y'.repeat(40)},${'z'.repeat(size)}\n`;
    expect(await csv(file(19), [7], 100)).toHaveLength(1);
    await expect(csv(file(20), [7], 100)).rejects.toMatchObject({
      code: 1002,
      message: 'The row at line 2 must be at most 100 bytes. Check for an unclosed quote.',
    });
  });
});
