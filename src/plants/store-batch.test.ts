import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { NewPlant } from './plant.ts';
import { OutcomeUnknownError, PlantIdTakenError } from './plant-errors.ts';
import { storeBatch } from './store-batch.ts';

const databaseError = (code: string) => Object.assign(new Error(code), { code });
const refusal = databaseError('23514');

/** A table that behaves as PostgreSQL's: all of a batch is stored, or nothing where one of its rows is refused. */
const createTable = (rows: Map<bigint, string>, refusedNames: Set<string>) => ({
  rows,
  insert: async (plants: NewPlant[]) => {
    if (plants.some(({ name }) => refusedNames.has(name))) throw refusal;
    const free = plants.filter(({ id }) => !rows.has(id));
    for (const { id, name } of free) rows.set(id, name);
    return new Set(free.map(({ id }) => id));
  },
});

const label = (outcome: Error | undefined) => outcome?.name ?? 'stored';
const plants = (...ids: number[]): NewPlant[] => ids.map((id, index) => ({ id: BigInt(id), name: `${index}` }));

describe('storeBatch', () => {
  test('gives each plant the outcome that it would have had alone, in its turn', async () => {
    const smallId = fc.bigInt({ min: -6n, max: 6n });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ id: smallId, refused: fc.boolean() }), { maxLength: 40 }),
        fc.uniqueArray(smallId),
        async (entries, stored) => {
          const batch = entries.map(({ id }, index) => ({ id, name: `${index}` }));
          const refused = new Set(entries.flatMap((entry, index) => (entry.refused ? [`${index}`] : [])));
          const startRows = () => new Map(stored.map((id) => [id, 'before'] as const));
          const alone = createTable(startRows(), refused);
          const expected: string[] = [];
          for (const plant of batch) {
            // PostgreSQL checks a row before it looks whether the id is taken.
            const result = await alone.insert([plant]).then(
              (ids) => (ids.has(plant.id) ? 'stored' : 'PlantIdTakenError'),
              () => 'Error',
            );
            expected.push(result);
          }
          const together = createTable(startRows(), refused);
          const outcomes = (await storeBatch(batch, together.insert)).map(label);
          expect(together.rows).toEqual(alone.rows);
          // Of plants with one id only the first is sent, so a later one is told `taken` before it could be refused.
          for (const [index, outcome] of outcomes.entries()) {
            if (outcome !== expected[index]) expect([outcome, expected[index]]).toEqual(['PlantIdTakenError', 'Error']);
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
    expect(outcomes.map(label)).toEqual(['stored', 'stored', 'PlantIdTakenError', 'stored', 'PlantIdTakenError']);
    expect(outcomes[2]).toBeInstanceOf(PlantIdTakenError);
  });

  test.each(['40P01', '40001', 'P2034'])('tries again after %s, and gives up in the end', async (code) => {
    let failures = 4;
    const insert = async (rows: NewPlant[]) => {
      if (failures-- > 0) throw databaseError(code);
      return new Set(rows.map(({ id }) => id));
    };
    expect((await storeBatch(plants(1, 2), insert)).map(label)).toEqual(['stored', 'stored']);
    failures = 5;
    expect((await storeBatch(plants(1), insert)).map(label)).toEqual(['Error']);
  });

  test.each(['22021', '22P02', '23502', '23514'])(
    'stores the others where one row is refused with %s',
    async (code) => {
      const insert = async (rows: NewPlant[]) => {
        if (rows.some(({ id }) => id === 2n)) throw databaseError(code);
        return new Set(rows.map(({ id }) => id));
      };
      const outcomes = await storeBatch(plants(1, 2, 3), insert);
      expect(outcomes.map((outcome) => outcome?.message)).toEqual([undefined, code, undefined]);
    },
  );

  test.each(['42501', '42P01', '54000', 'XX000', '24000', '122021', 'P2010'])(
    'fails at once, with one statement, where it is not for a row: %s',
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

  test('does not try again when the connection was lost: what became of the plants is not known', async () => {
    let calls = 0;
    const insert = async (): Promise<never> => {
      calls++;
      throw databaseError('P1017');
    };
    const outcomes = await storeBatch(plants(1, 2), insert);
    expect(calls).toBe(1);
    for (const outcome of outcomes) expect(outcome).toBeInstanceOf(OutcomeUnknownError);
  });

  test('does not try again when there was no connection: nothing was stored', async () => {
    const unreachable = databaseError('P1001');
    const outcomes = await storeBatch(plants(1, 2), () => Promise.reject(unreachable));
    expect(outcomes).toEqual([unreachable, unreachable]);
  });
});
