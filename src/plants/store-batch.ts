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
export const storeBatch = async <Result>(
  plants: readonly NewPlant[],
  store: StoreRows<Result>,
): Promise<(Result | Error)[]> => {
  const firsts = new Map<bigint, NewPlant>();
  for (const plant of plants) if (!firsts.has(plant.id)) firsts.set(plant.id, plant);
  // Sorted by id, so that concurrent batches with the same ids do not deadlock.
  const rows = [...firsts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  try {
    const outcome = await storeWithRetry(rows, store);
    return plants.map((plant) =>
      firsts.get(plant.id) === plant ? outcome(plant.id) : new PlantIdTakenError(plant.id),
    );
  } catch (error) {
    if (isRowRefusal(error) && plants.length > 1) return storeHalves(plants, store);
    // An interrupted batch is not retried: if it was stored after all, its ids would seem taken.
    return plants.map(() => toWriteError(error));
  }
};

/** Isolates a row that PostgreSQL rejects: halves the batch until that row is alone, and stores the others. */
const storeHalves = async <Result>(plants: readonly NewPlant[], store: StoreRows<Result>) => {
  const middle = plants.length >> 1;
  const outcomes = await storeBatch(plants.slice(0, middle), store);
  return outcomes.concat(await storeBatch(plants.slice(middle), store));
};

const storeWithRetry = async <Result>(rows: NewPlant[], store: StoreRows<Result>) => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await store(rows);
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
