import { setTimeout } from 'node:timers/promises';
import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { OutcomeUnknownError } from '../database/database-error.ts';
import { idTaken } from '../plants/plant.ts';
import type { ImportOptions, ImportRow, PlantRow } from './import.ts';
import { ImportInterruptedError } from './import-errors.ts';
import { importPlants } from './import-plants.ts';
import type { ImportRepository, StoreRows } from './import-repository.ts';
import type { RowOutcome } from './import-tally.ts';

const OPTIONS: ImportOptions = { onConflict: 'error', dryRun: false, atomic: false, maxErrors: 1000 };

/** A table with two lanes, whose speeds vary. */
const createTable = (
  delay: () => number = () => 0,
  fail: (rows: PlantRow[]) => Error | undefined = () => undefined,
) => {
  const table = new Map<bigint, string>();
  const sent: number[] = [];
  let underWay = 0;
  let mostUnderWay = 0;
  const repository: ImportRepository = {
    open: async () => ({
      lanes: 2,
      commit: async () => {},
      store: async (rows) => {
        sent.push(rows.length);
        underWay += 1;
        mostUnderWay = Math.max(mostUnderWay, underWay);
        await setTimeout(delay());
        underWay -= 1;
        const error = fail(rows);
        return rows.map(({ plant: { id, name } }) => {
          if (error) return error;
          if (table.has(id)) return idTaken(id);
          table.set(id, name);
          return undefined;
        });
      },
    }),
  };
  return { table, sent, repository, mostUnderWay: () => mostUnderWay };
};

async function* rowsOf(ids: readonly (number | bigint)[], length = 1): AsyncGenerator<ImportRow[]> {
  for (const [index, id] of ids.entries()) {
    yield [{ line: index + 1, plant: { id: BigInt(id), name: `${index + 1}`.padEnd(length) } }];
  }
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const never = new AbortController().signal;

const adviceIn = (error: ImportInterruptedError) => error.describe((value) => `onConflict=${value}`);

const adviceOf = (importing: Promise<unknown>) => importing.then(() => 'completed', adviceIn);

describe('importPlants', () => {
  test('the first row with an id wins, whichever chunk is faster', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 4500, maxLength: 6500 }),
        fc.array(fc.constantFrom(0, 3, 30), { minLength: 1, maxLength: 5 }),
        async (ids, delays) => {
          let call = 0;
          const { table, repository } = createTable(() => delays[call++ % delays.length] ?? 0);
          const summary = await importPlants(
            () => rowsOf(ids),
            { ...OPTIONS, maxErrors: 10_000 },
            { repository, signal: never },
          );
          const firsts = new Map<bigint, string>();
          for (const [index, id] of ids.entries()) if (!firsts.has(BigInt(id))) firsts.set(BigInt(id), `${index + 1}`);
          expect(table).toEqual(firsts);
          expect(summary).toMatchObject({ created: firsts.size, failed: ids.length - firsts.size, isAccepted: true });
          const lines = summary.errors.map(({ line }) => line);
          expect(lines).toEqual(lines.toSorted((a, b) => a - b));
        },
      ),
      { numRuns: 10, endOnFailure: true },
    );
  });

  test('sends chunks of 2,000 rows or half a million characters, two at a time', async () => {
    const { sent, repository, mostUnderWay } = createTable(() => 5);
    await importPlants(() => rowsOf(range(9000)), OPTIONS, { repository, signal: never });
    expect([sent, mostUnderWay()]).toEqual([[2000, 2000, 2000, 2000, 1000], 2]);
    sent.length = 0;
    await importPlants(
      () => rowsOf(range(5), 250_000),
      { ...OPTIONS, onConflict: 'skip' },
      { repository, signal: never },
    );
    expect(sent).toEqual([2, 2, 1]);
  });

  test('reads at most one chunk ahead of those in flight', async () => {
    const { repository } = createTable(() => 20);
    let read = 0;
    let stored = 0;
    let mostAhead = 0;
    async function* counted() {
      for await (const rows of rowsOf(range(20_000))) {
        read += 1;
        mostAhead = Math.max(mostAhead, read - stored);
        yield rows;
      }
    }
    const onProgress = ({ created }: { created: number }) => {
      stored = created;
    };
    await importPlants(() => counted(), OPTIONS, { repository, signal: never, onProgress });
    expect(mostAhead).toBeLessThanOrEqual(6001);
  });

  test.each([0, 1, 5])('stops if more than %d rows fail, and stores the rows before', async (maxErrors) => {
    async function* rows(): AsyncGenerator<ImportRow[]> {
      for (const id of range(100)) {
        yield [
          { line: 2 * id + 1, plant: { id: BigInt(id), name: '' } },
          { line: 2 * id + 2, id: BigInt(id), error: 1003, message: 'wrong' },
        ];
      }
    }
    const { table, repository } = createTable();
    const summary = await importPlants(() => rows(), { ...OPTIONS, maxErrors }, { repository, signal: never });
    expect(summary).toMatchObject({ created: maxErrors + 1, failed: maxErrors + 1, isAccepted: false });
    expect(summary.errors.map(({ line }) => line)).toEqual(range(maxErrors + 1).map((index) => 2 * index + 2));
    expect(table.size).toBe(maxErrors + 1);
  });

  test('counts failed rows exactly up to the line at which it stops, whichever chunk is faster', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(0, 3, 30), { minLength: 1, maxLength: 5 }),
        fc.constantFrom(0, 10, 1000, 2500),
        fc.boolean(),
        async (delays, maxErrors, atomic) => {
          let call = 0;
          const { table, repository } = createTable(() => delays[call++ % delays.length] ?? 0);
          // Every third id is taken, and every hundredth row is wrong.
          for (const id of range(9000)) if (id % 3 === 0) table.set(BigInt(id), 'taken');
          async function* rows() {
            for await (const [row] of rowsOf(range(9000)))
              yield row && (row.line % 100 === 0 ? [{ line: row.line, error: 1003, message: 'wrong' }] : [row]);
          }
          const failing = range(9000).filter((id) => id % 3 === 0 || (id + 1) % 100 === 0);
          const lines = failing.map((id) => id + 1).slice(0, maxErrors + 1);
          const read = rows as () => AsyncGenerator<ImportRow[]>;
          const summary = await importPlants(read, { ...OPTIONS, maxErrors, atomic }, { repository, signal: never });
          expect(summary).toMatchObject({ failed: maxErrors + 1, isAccepted: false });
          expect(summary.stoppedAt).toBe(lines.at(-1));
          expect(summary.errors.map(({ line }) => line)).toEqual(lines);
          if (!atomic)
            for (const id of range(lines.at(-1) as number))
              expect(table.has(BigInt(id)) || failing.includes(id)).toBe(true);
        },
      ),
      { numRuns: 20, endOnFailure: true },
    );
  });

  test('reports up to which line every row is stored if the database connection is lost', async () => {
    const lost = Object.assign(new Error('lost'), { code: '57P01' });
    const { table, repository } = createTable(
      () => 1,
      (rows) => (rows[0]?.line === 6001 ? lost : undefined),
    );
    const error = await importPlants(() => rowsOf(range(20_000)), OPTIONS, { repository, signal: never }).catch(
      (e) => e,
    );
    expect(error).toBeInstanceOf(ImportInterruptedError);
    expect(error).toMatchObject({ cause: lost, storedUpTo: 6000 });
    expect(adviceIn(error)).toBe('Every row up to line 6000 is stored. Repeat the import with onConflict=skip.');
    for (const id of range(6000)) expect(table.has(BigInt(id))).toBe(true);
  });

  test('finishes chunks in flight if the input fails, and reports what is stored', async () => {
    const broken = new Error('stalled');
    async function* rows() {
      yield* rowsOf(range(4100));
      throw broken;
    }
    const { table, repository } = createTable(() => 10);
    const error = await importPlants(
      () => rows(),
      { ...OPTIONS, onConflict: 'replace' },
      { repository, signal: never },
    ).catch((e) => e);
    expect(error).toMatchObject({ cause: broken, storedUpTo: 4000, counts: { created: 4000 } });
    expect(adviceIn(error)).toMatch(/onConflict=replace\.$/);
    expect(table.size).toBe(4000);
  });

  const UNKNOWN = 'It is not known whether any row is stored. Repeat the import with onConflict=skip.';
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

  test.each([
    ['No row is stored. Repeat the import.', 'PostgreSQL cannot be reached', [refused]],
    [UNKNOWN, 'the connection is lost', [new OutcomeUnknownError('lost')]],
    [UNKNOWN, 'the second chunk is stored before the first fails', [refused, 0]],
    [UNKNOWN, 'one of the chunks may be stored', [refused, new OutcomeUnknownError()]],
  ])('says: %s, if %s', async (expected, _event, outcomes) => {
    let call = 0;
    const store: StoreRows = async (rows) => {
      const outcome = outcomes[call++];
      await setTimeout(10 * (outcomes.length - call));
      return rows.map(() => outcome || undefined) as RowOutcome[];
    };
    const repository = { open: async () => ({ store, lanes: 2 }) };
    const rows = range(2000 * outcomes.length);
    expect(await adviceOf(importPlants(() => rowsOf(rows), OPTIONS, { repository, signal: never }))).toMatch(
      new RegExp(`^${RegExp.escape(expected)}$`),
    );
  });

  test('keeps the errors of failed rows if it is interrupted', async () => {
    async function* rows(): AsyncGenerator<ImportRow[]> {
      yield [{ line: 2, id: 7n, error: 1003, message: 'wrong' }];
      throw new Error('stalled');
    }
    for (const atomic of [false, true]) {
      const { repository } = createTable();
      const importing = importPlants(() => rows(), { ...OPTIONS, atomic }, { repository, signal: never });
      await expect(importing).rejects.toMatchObject({
        counts: { created: 0, replaced: 0, skipped: 0, failed: 1 },
        errors: [{ line: 2, id: 7n, error: 1003, message: 'wrong' }],
      });
    }
  });

  test('opens the repository at the first chunk, and says that no row is stored if none was sent', async () => {
    const { repository } = createTable();
    const open = jest.fn(repository.open);
    async function* rows(count: number) {
      yield* rowsOf(range(count));
      expect(open).toHaveBeenCalledTimes(count > 2000 ? 1 : 0);
      throw new Error('stalled');
    }
    const importing = (count: number) =>
      importPlants(() => rows(count), OPTIONS, { repository: { open }, signal: never });
    expect(await adviceOf(importing(2000))).toMatch(/^No row is stored\. Repeat the import\.$/);
    expect(await adviceOf(importing(2001))).toMatch(/^Every row up to line 2000 is stored\./);
    expect(await importPlants(() => rowsOf([]), OPTIONS, { repository: { open }, signal: never })).toMatchObject({
      created: 0,
    });
    expect(open).toHaveBeenCalledTimes(1);
    open.mockRejectedValueOnce(new Error('unreachable'));
    await expect(
      importPlants(() => rowsOf([1]), OPTIONS, { repository: { open }, signal: never }),
    ).rejects.toMatchObject({
      message: expect.stringMatching(/^No row is stored\./),
      cause: { message: 'unreachable' },
    });
  });

  test('stops before the next row when aborted', async () => {
    const abort = new AbortController();
    async function* rows() {
      for await (const rows of rowsOf(range(10_000))) {
        if (rows[0]?.line === 4001) abort.abort();
        yield rows;
      }
    }
    const { table, repository } = createTable();
    const error = await importPlants(() => rows(), OPTIONS, { repository, signal: abort.signal }).catch((e) => e);
    expect(error).toMatchObject({ cause: { name: 'AbortError' }, storedUpTo: table.size });
  });
});

describe('importPlants, atomic', () => {
  const atomic = { ...OPTIONS, atomic: true };

  test.each([
    [false, 'Either all rows are stored or none. Repeat the import with onConflict=skip.'],
    [true, 'Nothing is stored. Repeat the import.'],
  ])('whose commit fails, dry run: %j', async (dryRun, advice) => {
    const commit = async () => {
      throw new Error('Connection terminated unexpectedly');
    };
    const store = async (rows: PlantRow[]) => rows.map(() => undefined);
    const repository = { open: async () => ({ lanes: 1, store, commit }) };
    const importing = importPlants(() => rowsOf(range(10)), { ...atomic, dryRun }, { repository, signal: never });
    expect(await adviceOf(importing)).toMatch(new RegExp(`^${RegExp.escape(advice)}$`));
  });

  test.each([
    ['error', 'skip'],
    ['skip', 'skip'],
    ['replace', 'replace'],
  ] as const)(
    'with onConflict=%s advises to repeat with %s if its commit is not confirmed',
    async (onConflict, next) => {
      const { repository } = createTable();
      const open: ImportRepository['open'] = async (options) => ({
        ...(await repository.open(options)),
        commit: () => Promise.reject(new Error('Connection terminated')),
      });
      const options = { ...atomic, onConflict };
      expect(await adviceOf(importPlants(() => rowsOf([1]), options, { repository: { open }, signal: never }))).toBe(
        `Either all rows are stored or none. Repeat the import with onConflict=${next}.`,
      );
    },
  );
});
