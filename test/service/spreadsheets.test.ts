import { createReadStream } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { readRows } from '../../src/imports/read-rows.ts';
import { ROUNDED, SAVED, SAVED_PLANTS } from '../support/spreadsheets.ts';

const read = async (name: string, charset?: (typeof SAVED)[number]['charset']) => {
  const bytes = createReadStream(`test/fixtures/spreadsheets/${name}`, { highWaterMark: 10 });
  return (await Array.fromAsync(readRows(bytes, { format: 'csv', encoding: charset, maxLineBytes: 1000 }))).flat();
};

// The files in test/fixtures/; test/system/spreadsheets.test.ts has LibreOffice write the files again.
describe('a file that LibreOffice has saved', () => {
  test.each(SAVED)('is read: $name', async ({ name, charset }) => {
    expect((await read(name, charset)).map((row) => ('plant' in row ? row.plant : row))).toEqual(SAVED_PLANTS);
  });

  test.each(SAVED.filter(({ charset }) => charset !== 'utf-8'))(
    'is refused without its charset, with advice: $name',
    async ({ name, charset }) => {
      const rows = await read(name).catch((error) => [error]);
      expect(rows[0]).toMatchObject({ message: expect.stringMatching(`${charset}.* state `) });
    },
  );

  test('with rounded ids is refused with the reason', async () => {
    const [first, ...others] = await read(ROUNDED);
    const message =
      /^id was rounded by a spreadsheet \(format the column as text\) .*, not "9\.22337203685478E\+018"\.$/;
    expect(first).toMatchObject({ line: 2, error: 1003, message: expect.stringMatching(message) });
    expect(others.map((row) => 'plant' in row && row.plant.id)).toEqual([-5n, 1000n]);
  });
});
