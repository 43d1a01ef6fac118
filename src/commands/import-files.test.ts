import { expect, test } from '@jest/globals';
import { NO_COUNTS } from '../imports/import.ts';
import { importFiles } from './import-files.ts';

test('the progress of a file counts its own rows, and goes on from the bytes of those before it', async () => {
  const files = ['a.csv', 'b.csv'].map((name) => ({ name, format: 'csv' as const, isCompressed: false }));
  const seen: object[] = [];
  const { signal } = new AbortController();
  await importFiles(
    files,
    async (_file, { progress }) => {
      seen.push({ ...progress });
      Object.assign(progress, { rows: 3, bytes: progress.bytes + 30, storingSince: 1 });
      return { ...NO_COUNTS, created: 3, errors: [], isAccepted: true };
    },
    { size: 60, signal, atomic: false },
  );
  expect(seen).toEqual([
    { rows: 0, bytes: 0 },
    { rows: 0, bytes: 30, storingSince: undefined },
  ]);
});
