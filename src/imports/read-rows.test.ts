import { pipeline, Readable } from 'node:stream';
import { createGunzip, gzipSync } from 'node:zlib';
import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
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

const read = (
  format: 'csv' | 'ndjson' | 'json',
  input: string | Buffer,
  sizes: number[] = [LIMIT],
  maxLineBytes = LIMIT,
): Promise<ImportRow[]> => allOf(readRows(chunksOf(Buffer.from(input), sizes), { format, maxLineBytes }));

const ndjson = (...parameters: [string | Buffer, number[]?, number?]) => read('ndjson', ...parameters);
const csv = (...parameters: [string | Buffer, number[]?, number?]) => read('csv', ...parameters);

const text = fc.string({ unit: 'binary', maxLength: 40 }).map((string) => string.replaceAll('\0', ''));
const anyPlant: fc.Arbitrary<NewPlant> = fc.record(
  {
    id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    name: text,
    tag: text,
  },
  { requiredKeys: ['id', 'name'] },
);
const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 });

const toJson = ({ id, name, tag }: NewPlant) =>
  `{"id":${id},"name":${JSON.stringify(name)}${tag === undefined ? '' : `,"tag":${JSON.stringify(tag)}`}}`;
const quote = (field: string) => `"${field.replaceAll('"', '""')}"`;
const toCsv = ({ id, name, tag }: NewPlant) => `${id},${quote(name)},${tag === undefined ? '' : quote(tag)}`;
const plantsOf = (rows: ImportRow[]) => rows.map((row) => ('plant' in row ? row.plant : row));
/** An undefined tag means no tag. */
const plain = (plants: unknown[]) => plants.map((plant) => ({ tag: undefined, ...(plant as object) }));

describe('any plants', () => {
  test('are read from NDJSON and CSV, wherever the bytes are split', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyPlant, { maxLength: 20 }),
        sizes,
        fc.constantFrom('\n', '\r\n'),
        fc.constantFrom('', '\ufeff'),
        fc.boolean(),
        async (plants, cuts, lineEnd, mark, isEnded) => {
          const file = (lines: string[]) => mark + lines.join(lineEnd) + (isEnded ? lineEnd : '');
          const fromJson = await ndjson(file(plants.map(toJson)), cuts);
          expect(plain(plantsOf(fromJson))).toEqual(plain(plants));
          expect(fromJson.map(({ line }) => line)).toEqual(plants.map((_, index) => index + 1));
          const fromCsv = await csv(file(['id,name,tag', ...plants.map(toCsv)]), cuts);
          expect(plain(plantsOf(fromCsv))).toEqual(plain(plants));
        },
      ),
      { numRuns: 200 },
    );
  });

  test('are read through gzip', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyPlant, { maxLength: 20 }), sizes, async (plants, cuts) => {
        const bytes = gzipSync(plants.map(toJson).join('\n'));
        const unzipped = pipeline(Readable.from(chunksOf(bytes, cuts)), createGunzip(), () => {});
        const rows = await allOf(readRows(unzipped, { format: 'ndjson', maxLineBytes: LIMIT }));
        expect(plain(plantsOf(rows))).toEqual(plain(plants));
      }),
      { numRuns: 50 },
    );
  });
});

/** A file whose lines end as `ends` say, in turn. A CRLF instead of a CR, if an empty line behind it would make it one. */
const withEnds = (rows: string[], ends: string[], isEnded: boolean) =>
  rows
    .map((row, index) => {
      const [end = '', next] = [ends[index % ends.length], ends[(index + 1) % ends.length]];
      if (index === rows.length - 1 && !isEnded) return row;
      return row + (end === '\r' && next === '\n' && rows[index + 1] === '' ? '\r\n' : end);
    })
    .join('');

test('CSV has the same rows on the same lines, whichever line ends it has and wherever it is split', async () => {
  const row = anyPlant.map(toCsv);
  const lineEnd = fc.constantFrom('\r', '\n', '\r\n');
  const header = fc.constantFrom(
    ['id,name,tag'],
    ['sep=,', 'id,name,tag'],
    ['', 'id,name,tag', ''],
    ['"sep=,"', '', '"id",name,tag'],
  );
  await fc.assert(
    fc.asyncProperty(
      header,
      fc.array(fc.oneof(row, fc.constantFrom('', 'x', 'a,b,c,d', '"1","a\r\n\n\r",""')), { maxLength: 20 }),
      fc.array(lineEnd, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      fc.constantFrom('', '\ufeff'),
      sizes,
      async (start, rows, ends, isEnded, mark, cuts) => {
        const file = [...start, ...rows];
        const expected = await csv(withEnds(file, ['\n'], true));
        expect(await csv(mark + withEnds(file, ends, isEnded), cuts)).toEqual(expected);
        expect(expected).toHaveLength(rows.filter((text) => text !== '').length);
      },
    ),
    { numRuns: 500 },
  );
});

test.each<[string, 'csv' | 'ndjson', (id: number) => string, string]>([
  ['NDJSON', 'ndjson', (id) => `{"id":${id},"name":"Fir"}\n`, ''],
  ['CSV', 'csv', (id) => `${id},Fir\n`, 'id,name\n'],
])('an invalid byte late in %s ends the file, and the rows before it are read', async (_title, format, row, head) => {
  const rows = Array.from({ length: 10_000 }, (_, id) => row(id));
  const file = Buffer.from(head + rows.join('') + row(10_000).replace('Fir', 'T\xe4nnchen') + row(10_001), 'latin1');
  const read: ImportRow[] = [];
  const reading = async () => {
    for await (const some of readRows(chunksOf(file, [1000]), { format, maxLineBytes: LIMIT })) read.push(...some);
  };
  const line = 10_000 + Number(head !== '');
  await expect(reading()).rejects.toMatchObject({
    code: 1000,
    message: `The file is not utf-8, somewhere after line ${line}. If it is in another encoding, such as windows-1252 or utf-16le, state it, or convert the file to UTF-8.`,
  });
  expect(read.length).toBeGreaterThan(9800);
  expect(read.every((found) => 'plant' in found)).toBe(true);
});

/** @returns how often the event loop turns during `work` if each look at the clock shows that a turn is over */
const countTurns = async (work: () => Promise<unknown>): Promise<number> => {
  let time = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => (time += 1000));
  let turns = 0;
  let next: NodeJS.Immediate;
  const count = () => {
    turns++;
    next = setImmediate(count);
  };
  next = setImmediate(count);
  await work().finally(() => clock.mockRestore());
  clearImmediate(next);
  return turns;
};

test.each<[string, () => Promise<ImportRow[]>]>([
  ['NDJSON', () => ndjson('{}\n'.repeat(20_000))],
  ['CSV', () => csv(`id,name\n${'x\n'.repeat(20_000)}`)],
  ['a JSON array', () => read('json', `[${'{"name":"Fir"},'.repeat(19_999)}{}]`)],
])('many short rows that fail do not block the event loop: %s', async (_format, readAll) => {
  let rows: ImportRow[] = [];
  const turns = await countTurns(async () => {
    rows = await readAll();
  });
  expect(rows).toHaveLength(20_000);
  expect(turns).toBeGreaterThan(10_000);
});

test.each<[string, string]>([
  ['empty lines', '\n'.repeat(300_000)],
  ['empty lines that end with CR', `id,name${'\r'.repeat(300_000)}`],
  ['one long row', `id,name\n1,"${'x'.repeat(300_000)}"`],
  ['one long row of quotes', `id,name\n1,"${'""'.repeat(150_000)}"`],
])('CSV without a row for long does not block the event loop: %s', async (_what, file) => {
  const turns = await countTurns(async () => {
    await csv(`\n${file}`, [1000]).catch(() => {});
  });
  expect(turns).toBeGreaterThan(200);
});

test('many pieces of one NDJSON line do not block the event loop', async () => {
  const turns = await countTurns(async () => {
    await ndjson('x'.repeat(100_000), [100]);
  });
  expect(turns).toBeGreaterThan(500);
});

describe('NDJSON', () => {
  test('a character of four bytes may be split anywhere', async () => {
    const bytes = Buffer.from('{"id":1,"name":"🌲"}\n');
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(plantsOf(await ndjson(bytes, [cut, bytes.length]))).toEqual([{ id: 1n, name: '🌲' }]);
    }
  });

  test('has its limit in bytes of UTF-8', async () => {
    const row = (length: number) => `{"id":1,"name":"${'é'.repeat(length)}"}\n`;
    // 18 bytes beside the name.
    expect(await ndjson(row(41), [7], 100)).toMatchObject([{ plant: { name: 'é'.repeat(41) } }]);
    expect(await ndjson(row(42), [7], 100)).toMatchObject([{ error: 1002 }]);
    expect(await ndjson(row(80), [7], 100)).toMatchObject([{ error: 1002 }]);
    expect(await ndjson(row(500), [7], 100)).toMatchObject([{ error: 1002 }]);
  });

  test.each([LIMIT, 100, 1])('a line may have at most %d bytes', async (limit) => {
    const row = (length: number) => `{"id":1,"name":"${'x'.repeat(length)}"}`;
    const room = limit - row(0).length;
    for (const lineEnd of ['\n', '\r\n', '']) {
      const longest = room < 0 ? '1' : row(room);
      const [fits] = await ndjson(longest + lineEnd, [65_536], limit);
      expect(fits).toMatchObject(room < 0 ? { error: 1003 } : { plant: { name: 'x'.repeat(room) } });
      const rows = await ndjson(`${longest} ${lineEnd}`, [65_536], limit);
      expect(rows).toEqual([{ line: 1, error: 1002, message: `The line must be at most ${limit} bytes.` }]);
    }
  });

  test('a line that is too long is not kept in memory, and reading continues after it', async () => {
    const piece = Buffer.alloc(65_536, ' ');
    let most = 0;
    async function* endless() {
      for (let count = 0; count < 3000; count++) {
        if (count % 100 === 0) most = Math.max(most, memory());
        yield piece;
      }
      yield Buffer.from('\n{"id":2,"name":"Fir"}\n');
    }
    const memory = () => process.memoryUsage().heapUsed + process.memoryUsage().external;
    const before = memory();
    const rows = await allOf(readRows(endless(), { format: 'ndjson', maxLineBytes: LIMIT }));
    expect(rows).toMatchObject([{ line: 1, error: 1002 }, { plant: { id: 2n } }]);
    expect(most - before).toBeLessThan(100 * LIMIT);
  });

  test.each(['\n', '\r\n', ' \t\n'])('a million blank lines (%j) do not block the event loop', async (blank) => {
    let rows: ImportRow[] = [];
    const turns = await countTurns(async () => {
      rows = await ndjson(`${blank.repeat(1_000_000)}{"id":1,"name":"Fir"}`, [LIMIT]);
    });
    expect(rows).toEqual([{ line: 1_000_001, plant: { id: 1n, name: 'Fir' } }]);
    expect(turns).toBeGreaterThan(500);
  });

  test('a failed row has the same error as POST /plants, and its id if that is valid', async () => {
    const rows = await ndjson(
      [
        '{"id":9223372036854775807,"name":"Fir"}',
        '{"id":9223372036854775808,"name":"Fir"}',
        '{"id":7}',
        '{"id":"7","name":7}',
        '{"id":1',
        '"\\ud800"',
        '{"id":8,"name":"\\u0000"}',
        '{"id":9,"name":"\\ud800"}',
        `{"id":10,"name":"x","more":[${'0,'.repeat(20_000)}0]}`,
        'null',
      ].join('\n'),
    );
    expect(rows).toMatchObject([
      { line: 1, plant: { id: 9223372036854775807n, name: 'Fir' } },
      { line: 2, error: 1003, message: expect.stringMatching(/^id must be/) },
      { line: 3, id: 7n, error: 1003, message: 'name is required.' },
      { line: 4, error: 1003, message: expect.stringMatching(/^id must be .*; name must be a string, not 7\.$/) },
      { line: 5, error: 1000, message: expect.stringMatching(/^The line is not JSON: /) },
      { line: 6, error: 1003, message: 'The line must be a JSON object, not "\\ud800".' },
      { line: 7, id: 8n, error: 1003 },
      { line: 8, id: 9n, error: 1003 },
      { line: 9, error: 1002 },
      { line: 10, error: 1003 },
    ]);
    expect(rows[1]).not.toHaveProperty('id');
  });
});

test('NDJSON whose lines end with CR alone is no silent loss', async () => {
  const rows = await ndjson('{"id":1,"name":"Fir"}\r{"id":2,"name":"Yew"}\r');
  expect(rows).toMatchObject([{ line: 1, error: 1000, message: expect.stringMatching(/^The line is not JSON/) }]);
});

test('NDJSON whose lines are one, as curl -d sends them: the message says so', async () => {
  const message = expect.stringMatching(
    /^The line is not JSON: .*\. If line ends were lost .*: curl -d removes them, .*\.$/,
  );
  expect(await ndjson('{"id":1,"name":"Fir"}{"id":2,"name":"Yew"}')).toMatchObject([{ line: 1, error: 1000, message }]);
});

test('the rows before an error that ends the file come first', async () => {
  const rows: ImportRow[] = [];
  const file = readRows(chunksOf(Buffer.from('id,name\n1,Fir\n2,"Yew"x\n'), []), { format: 'csv', maxLineBytes: 1000 });
  await expect(Array.fromAsync(file, (some) => rows.push(...some))).rejects.toMatchObject({ code: 1000 });
  expect(rows).toMatchObject([{ line: 2 }]);
});
