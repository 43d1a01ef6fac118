import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runProgram } from '../support/run-program.ts';
import { describeUnless } from '../support/skip.ts';
import { ROUNDED, SAVED, SAVED_PLANTS, saveSpreadsheets, spreadsheetObstacle } from '../support/spreadsheets.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

jest.setTimeout(300_000);

describeUnless(spreadsheetObstacle, 'plant-store import of files that LibreOffice saves', () => {
  let folder: string;
  const database = useTestDatabase();
  const run = (name: string, ...options: string[]) =>
    runProgram(['import', join(folder, name), ...options], { DATABASE_URL: database.url });
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'plant-store-spreadsheets-'));
    saveSpreadsheets(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(SAVED)('stores the plants of $name', async ({ name, charset }) => {
    await database.query('TRUNCATE plants');
    expect(await run(name, '--encoding', charset)).toMatchObject({ code: 0, stderr: '' });
    const rows = await database.query('SELECT id, name, tag FROM plants');
    const byId = (a: { id: unknown }, b: { id: unknown }) => String(a.id).localeCompare(String(b.id));
    const expected = SAVED_PLANTS.map(({ id, name, tag = null }) => ({ id: String(id), name, tag }));
    expect(rows.toSorted((a, b) => byId(a as never, b as never))).toEqual(expected.toSorted(byId));
  });

  test.each(SAVED.filter(({ charset }) => charset !== 'utf-8'))(
    'says what to do with $name without its encoding',
    async ({ name, charset }) => {
      const { code, stderr } = await run(name);
      expect([code, stderr]).toEqual([1, expect.stringMatching(`${charset}.* state `)]);
    },
  );

  test('refuses ids that were rounded', async () => {
    expect(await run(ROUNDED)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was rounded by a spreadsheet'),
    });
  });
});
