import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { OutcomeUnknownError } from '../database/database-error.ts';
import { StoreError } from '../errors.ts';
import { idTaken, type NewPlant } from '../plants/plant.ts';
import { storeBatch as storeRows } from './store-batch.ts';

const databaseError = (code: string) => Object.assign(new Error(code), { code });
const rejection = databaseError('23514');

/** A table that behaves like PostgreSQL's: if one row of a batch is rejected, nothing is stored. */
const createTable = (rows: Map<bigint, string>, rejectedNames: Set<string>) => ({
  rows,
  insert: async (plants: NewPlant[]) => {
    if (plants.some(({ name }) => rejectedNames.has(name))) throw rejection;
    const free = plants.filter(({ id }) => !rows.has(id));
    for (const { id, name } of free) rows.set(id, name);
    return new Set(free.map(({ id }) => id));
  },
});

/** `insert`: gives the ids that were free. */
const storeBatch = (plants: NewPlant[], insert: (rows: NewPlant[]) => Promise<Set<bigint>>) =>
  storeRows<undefined>(plants, async (rows) => {
    const free = await insert(rows);
    return (id) => (free.has(id) ? undefined : idTaken(id));
  });

const label = (outcome: Error | undefined) => outcome?.name ?? 'stored';
const plants = (...ids: number[]): NewPlant[] => ids.map((id, index) => ({ id: BigInt(id), name: `${index}` }));

describe('storeBatch', () => {
  test('gives each plant the same outcome as if the plants were stored one after another', async () => {
    const smallId = fc.bigInt({ min: -6n, max: 6n });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ id: smallId, rejected: fc.boolean() }), { maxLength: 40 }),
        fc.uniqueArray(smallId),
        async (entries, stored) => {
          const batch = entries.map(({ id }, index) => ({ id, name: `${index}` }));
          const rejected = new Set(entries.flatMap((entry, index) => (entry.rejected ? [`${index}`] : [])));
          const startRows = () => new Map(stored.map((id) => [id, 'before'] as const));
          const alone = createTable(startRows(), rejected);
          const expected: string[] = [];
          for (const plant of batch) {
            // PostgreSQL checks the row before it checks whether the id is taken.
            const result = await alone.insert([plant]).then(
              (ids) => (ids.has(plant.id) ? 'stored' : 'idTaken'),
              () => 'Error',
            );
            expected.push(result);
          }
          const together = createTable(startRows(), rejected);
          const outcomes = (await storeBatch(batch, together.insert)).map(label);
          expect(together.rows).toEqual(alone.rows);
          // Only the first of several plants with the same id is sent. The others are `taken` before they are checked.
          for (const [index, outcome] of outcomes.entries()) {
            if (outcome !== expected[index]) expect([outcome, expected[index]]).toEqual(['idTaken', 'Error']);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test('sends each id once, sorted', async () => {
    const sent: bigint[][] = [];
    const insert = async (rows: NewPlant[]) => {
      sent.push(rows.map(({ id }) => id));
      return new Set(rows.map(({ id }) => id));
    };
    const outcomes = await storeBatch(plants(5, -3, 5, 9, -3), insert);
    expect(sent).toEqual([[-3n, 5n, 9n]]);
    expect(outcomes.map(label)).toEqual(['stored', 'stored', 'idTaken', 'stored', 'idTaken']);
    expect(outcomes[2]).toBeInstanceOf(StoreError);
  });

  test.each(['40P01', '40001', 'P2034'])('retries after %s, and gives up after the last attempt', async (code) => {
    let failures = 4;
    const insert = async (rows: NewPlant[]) => {
      if (failures-- > 0) throw databaseError(code);
      return new Set(rows.map(({ id }) => id));
    };
    expect((await storeBatch(plants(1, 2), insert)).map(label)).toEqual(['stored', 'stored']);
    failures = 5;
    expect((await storeBatch(plants(1), insert)).map(label)).toEqual(['Error']);
  });

  test.each(['22021', '22P02', '23502', '23514', '54000', 'P0001'])(
    'stores the other rows if one is rejected with %s',
    async (code) => {
      const insert = async (rows: NewPlant[]) => {
        if (rows.some(({ id }) => id === 2n)) throw databaseError(code);
        return new Set(rows.map(({ id }) => id));
      };
      const outcomes = await storeBatch(plants(1, 2, 3), insert);
      expect(outcomes.map((outcome) => outcome?.message)).toEqual([undefined, code, undefined]);
    },
  );

  test.each(['42501', '42P01', '55P03', 'XX000', '24000', '122021', 'P2010'])(
    'fails after one statement if the error is not about a row: %s',
    async (code) => {
      let calls = 0;
      const failure = databaseError(code);
      const insert = async (): Promise<never> => {
        calls++;
        throw failure;
      };
      const outcomes = await storeBatch(plants(...Array.from({ length: 500 }, (_, id) => id)), insert);
      expect(calls).toBe(1);
      expect(new Set(outcomes)).toEqual(new Set([failure]));
    },
  );

  test('does not retry if the connection was lost, because the outcome is unknown', async () => {
    let calls = 0;
    const insert = async (): Promise<never> => {
      calls++;
      throw databaseError('P1017');
    };
    const outcomes = await storeBatch(plants(1, 2), insert);
    expect(calls).toBe(1);
    for (const outcome of outcomes) expect(outcome).toBeInstanceOf(OutcomeUnknownError);
  });

  test('does not retry if there was no connection', async () => {
    const unreachable = databaseError('P1001');
    const outcomes = await storeBatch(plants(1, 2), () => Promise.reject(unreachable));
    expect(outcomes).toEqual([unreachable, unreachable]);
  });
});
