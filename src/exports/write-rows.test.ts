import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readCsv as importCsv, readNdjson as importNdjson } from '../imports/read-rows.ts';
import type { PlantPage } from '../plants/plant-pages.ts';
import { type ExportFormat, writeRows } from './write-rows.ts';

type Row = [id: string, name: string, tag: string | null];

const pageOf = (rows: Row[], hasNext = false): PlantPage => ({
  ids: rows.map(([id]) => id),
  names: rows.map(([, name]) => name),
  tags: rows.map(([, , tag]) => tag),
  hasNext,
  isCut: false,
});

const write = async (format: ExportFormat, ...pages: PlantPage[]) => {
  const pieces = await Array.fromAsync(
    writeRows(
      format,
      (async function* () {
        yield* pages;
      })(),
    ),
  );
  return { pieces, text: Buffer.concat(pieces).toString() };
};

/** Reads CSV as in RFC 4180. An empty field without quotes is null. */
const readCsv = (text: string): (string | null)[][] => {
  const rows: (string | null)[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\n\r]*))(,|\n|$)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? (plain || null));
    if (end === '\n') rows.push([]);
  }
  return rows.slice(0, -1);
};

const text = fc.string({ unit: 'binary' }).map((any) => any.replaceAll('\0', ''));
const awkward = fc.constantFrom(
  '',
  ' ',
  '"',
  '\r',
  '\n',
  '\r\n',
  ',',
  '\ufeff',
  ' x',
  'x ',
  '\\N',
  'NULL',
  "'",
  '=1+1',
);
const row: fc.Arbitrary<Row> = fc.tuple(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.oneof(text, awkward),
  fc.option(fc.oneof(text, awkward)),
);

describe('any plants', () => {
  test('are written as CSV that distinguishes no tag from an empty tag', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row), fc.array(row), async (first, second) => {
        const { text } = await write('csv', pageOf(first, true), pageOf(second));
        expect(readCsv(text)).toEqual(
          [['id', 'name', 'tag'], ...first, ...second].map(([id, name, tag]) => [id, name, tag]),
        );
      }),
    );
  });

  test.each([
    ['csv', importCsv],
    ['ndjson', importNdjson],
  ] as const)('are imported from %s as they were', async (format, read) => {
    await fc.assert(
      fc.asyncProperty(fc.array(row), async (rows) => {
        const pages = (async function* () {
          yield pageOf(rows);
        })();
        const imported = await Array.fromAsync(read(writeRows(format, pages), { maxLineBytes: 1_048_576 }));
        const plants = imported.flat().map((found) => ('plant' in found ? found.plant : found));
        expect(plants.map((plant) => ({ tag: undefined, ...plant }))).toEqual(
          rows.map(([id, name, tag]) => ({ id: BigInt(id), name, tag: tag ?? undefined })),
        );
      }),
    );
  });

  test('are written as NDJSON, one per line', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row), fc.array(row), async (first, second) => {
        const { text } = await write('ndjson', pageOf(first, true), pageOf(second));
        const lines = text.split('\n');
        expect(lines.pop()).toBe('');
        const read = lines.map((line) => ({ ...JSON.parse(line), id: /^{"id":(-?\d+),/.exec(line)?.[1] }));
        expect(read).toEqual(
          [...first, ...second].map(([id, name, tag]) => ({ id, name, ...(tag !== null && { tag }) })),
        );
      }),
    );
  });
});

test('quotes only the fields that need it', async () => {
  const { text } = await write(
    'csv',
    pageOf([
      ['-1', 'Fir', 'Abies'],
      ['2', 'a "b", c', ''],
      ['3', ' Fir', null],
    ]),
  );
  expect(text).toBe('id,name,tag\n-1,Fir,Abies\n2,"a ""b"", c",""\n3," Fir",\n');
});

test.each([
  ['csv', 'id,name,tag\n'],
  ['ndjson', ''],
] as const)('without plants, %s has no row', async (format, expected) => {
  expect((await write(format, pageOf([]))).text).toBe(expected);
});

test('writes a long plant in pieces', async () => {
  const name = 'é'.repeat(1_000_000);
  const { pieces, text } = await write('ndjson', pageOf([['1', name, null]]));
  expect(text).toBe(`{"id":1,"name":"${name}"}\n`);
  expect(Math.max(...pieces.map(({ length }) => length))).toBe(16_384);
});

test('counts rows once they are read', async () => {
  const counts: number[] = [];
  const pages = async function* () {
    yield pageOf(
      [
        ['1', 'Fir', null],
        ['2', 'Yew', null],
      ],
      true,
    );
    yield pageOf([['3', 'Oak', null]]);
  };
  const rows = writeRows('ndjson', pages(), (count) => counts.push(count));
  await rows.next();
  expect(counts).toEqual([]);
  await rows.next();
  expect(counts).toEqual([2]);
  await rows.next();
  expect(counts).toEqual([2, 1]);
});
