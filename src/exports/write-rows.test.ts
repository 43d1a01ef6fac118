import { Readable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readRows } from '../imports/read-rows.ts';
import { type ExportFormat, type PlantRow, rowWriters } from './write-rows.ts';

const write = (format: ExportFormat, rows: PlantRow[]): string =>
  rowWriters[format].head + rows.map(rowWriters[format].write).join('');

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
const row: fc.Arbitrary<PlantRow> = fc.tuple(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.oneof(text, awkward),
  fc.option(fc.oneof(text, awkward)),
);

describe('any plants', () => {
  test('are written as CSV that distinguishes no tag from an empty tag', () => {
    fc.assert(
      fc.property(fc.array(row), (rows) => {
        expect(readCsv(write('csv', rows))).toEqual([['id', 'name', 'tag'], ...rows]);
      }),
    );
  });

  test.each(['csv', 'ndjson'] as const)('are imported from %s as they were', async (format) => {
    await fc.assert(
      fc.asyncProperty(fc.array(row), async (rows) => {
        const bytes = Readable.from([Buffer.from(write(format, rows))]);
        const imported = await Array.fromAsync(readRows(bytes, { format, maxLineBytes: 1_048_576 }));
        const plants = imported.flat().map((found) => ('plant' in found ? found.plant : found));
        expect(plants.map((plant) => ({ tag: undefined, ...plant }))).toEqual(
          rows.map(([id, name, tag]) => ({ id: BigInt(id), name, tag: tag ?? undefined })),
        );
      }),
    );
  });

  test('are written as NDJSON, one per line', () => {
    fc.assert(
      fc.property(fc.array(row), (rows) => {
        const lines = write('ndjson', rows).split('\n');
        expect(lines.pop()).toBe('');
        const read = lines.map((line) => ({ ...JSON.parse(line), id: /^{"id":(-?\d+),/.exec(line)?.[1] }));
        expect(read).toEqual(rows.map(([id, name, tag]) => ({ id, name, ...(tag !== null && { tag }) })));
      }),
    );
  });
});

test('quotes only the fields that need it', () => {
  const text = write('csv', [
    ['-1', 'Fir', 'Abies'],
    ['2', 'a "b", c', ''],
    ['3', ' Fir', null],
    ['4', 'Fir\u2028', 'a\rb'],
    ['5', 'a\u2028b', '\\.'],
  ]);
  expect(text).toBe('id,name,tag\n-1,Fir,Abies\n2,"a ""b"", c",""\n3," Fir",\n4,"Fir\u2028","a\rb"\n5,a\u2028b,\\.\n');
});

test.each([
  ['csv', 'id,name,tag\n'],
  ['ndjson', ''],
] as const)('without plants, %s has no row', (format, expected) => {
  expect(write(format, [])).toBe(expected);
});
