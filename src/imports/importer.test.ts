import { expect, test } from '@jest/globals';
import { importQuerySchema } from './import.ts';
import { createImporter } from './importer.ts';

const query = importQuerySchema.parse({});

/** Imports without a database: none gets a session. */
const start = () => {
  let opened = 0;
  const sessions = {
    open: async () => {
      opened += 1;
      throw new Error('no database');
    },
    assertSessions: () => {},
    inUse: () => 0,
    close: async () => {},
  };
  const importer = createImporter({ sessions, limits: { count: 2, rowTimeout: 60_000 } });
  const run = (info = (_end: unknown) => {}, ending = new AbortController()) => {
    const read = async function* () {
      yield [{ line: 1, plant: { id: 1n, name: 'Fir' } }];
    };
    return importer.run({ token: 'test', query, read, ending, log: { info } });
  };
  return { importer, run, opened: () => opened };
};

test('once imports are stopped, another is refused before it does anything', async () => {
  const { importer, run, opened } = start();
  importer.stop();
  await expect(run()).rejects.toThrow('The service is stopping.');
  expect([opened(), importer.inProgress()]).toEqual([0, 0]);
});

test('an import that fails gives its slot back and says how it ended, once', async () => {
  const { importer, run } = start();
  for (let count = 0; count < 5; count++) {
    const ends: unknown[] = [];
    await expect(run((end) => ends.push(end))).rejects.toMatchObject({ cause: new Error('no database') });
    const counts = { created: 0, replaced: 0, skipped: 0, failed: 0 };
    expect(ends).toMatchObject([{ token: 'test', onConflict: 'error', outcome: 'interrupted', ...counts }]);
  }
  expect(importer.inProgress()).toBe(0);
});

test('a stop leaves imports alone that have ended', async () => {
  const { importer, run } = start();
  const ending = new AbortController();
  await expect(run(undefined, ending)).rejects.toThrow();
  importer.stop();
  expect(ending.signal.aborted).toBe(false);
});
