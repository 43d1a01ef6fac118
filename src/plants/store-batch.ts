import { classifyDatabaseError, isRowRefusal, toWriteError } from '../database/database-error.ts';
import type { NewPlant } from './plant.ts';
import { PlantIdTakenError } from './plant-errors.ts';

/** The maximum number of attempts if PostgreSQL aborts a batch because of a conflict with another transaction. */
const MAX_ATTEMPTS = 5;

/**
 * Stores plants with distinct ids in one transaction.
 * @returns the outcome for an id
 */
type StoreRows<Result> = (plants: NewPlant[]) => Promise<(id: bigint) => Result | Error>;

/**
 * Stores plants as a batch. Each has the same outcome as if they were stored one after another: of several plants with the
 * same id the first wins, and a row that PostgreSQL rejects fails alone. Never rejects.
 */
export const storeBatch = <Result>(
  plants: readonly NewPlant[],
  store: StoreRows<Result>,
): Promise<(Result | Error)[]> =>
  storeTogether(plants, async (batch) => {
    const firsts = new Map<bigint, NewPlant>();
    for (const plant of batch) if (!firsts.has(plant.id)) firsts.set(plant.id, plant);
    // Sorted by id, so that concurrent batches with the same ids do not deadlock.
    const outcome = await store([...firsts.values()].sort((a, b) => (a.id < b.id ? -1 : 1)));
    return batch.map((plant) => (firsts.get(plant.id) === plant ? outcome(plant.id) : new PlantIdTakenError(plant.id)));
  });

/** Stores a batch in one transaction. A row that PostgreSQL rejects fails alone. Never rejects. */
export const storeTogether = async <Row, Result>(
  rows: readonly Row[],
  store: (rows: readonly Row[]) => Promise<(Result | Error)[]>,
): Promise<(Result | Error)[]> => {
  try {
    return await retryConflicts(() => store(rows));
  } catch (error) {
    if (isRowRefusal(error) && rows.length > 1) return storeHalves(rows, store);
    // An interrupted batch is not retried: if it was stored after all, its ids would seem taken.
    return rows.map(() => toWriteError(error));
  }
};

/** Isolates a row that PostgreSQL rejects: halves the batch until that row is alone, and stores the others. */
const storeHalves = async <Row, Result>(
  rows: readonly Row[],
  store: (rows: readonly Row[]) => Promise<(Result | Error)[]>,
) => {
  const middle = rows.length >> 1;
  const outcomes = await storeTogether(rows.slice(0, middle), store);
  return outcomes.concat(await storeTogether(rows.slice(middle), store));
};

const retryConflicts = async <Result>(store: () => Promise<Result>) => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await store();
    } catch (error) {
      if (classifyDatabaseError(error) !== 'conflict' || attempt === MAX_ATTEMPTS) throw error;
    }
  }
};

/** @param free the ids that were free; null if all were */
export const createdOnly = (free: readonly bigint[] | null) => {
  const created = free && new Set(free);
  return (id: bigint): undefined | Error => (created?.has(id) === false ? new PlantIdTakenError(id) : undefined);
};
