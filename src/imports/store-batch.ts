import { classifyDatabaseError, isRowRefusal, toWriteError } from '../database/database-error.ts';
import { firstsById, inHalves } from '../plants/insert-plants.ts';
import { idTaken, type NewPlant } from '../plants/plant.ts';

/** The maximum number of attempts if PostgreSQL aborts a batch because of a conflict with another transaction. */
const MAX_ATTEMPTS = 5;

/**
 * Stores plants with distinct ids in one transaction.
 * @returns the outcome for an id
 */
type StoreRows<Result> = (plants: NewPlant[]) => Promise<(id: bigint) => Result | Error>;

/**
 * Stores plants in one transaction. Each has the same outcome as if they were stored one after another: of several plants with
 * the same id the first wins, and a row that PostgreSQL rejects fails alone. Never rejects.
 */
export const storeBatch = async <Result>(
  plants: readonly NewPlant[],
  store: StoreRows<Result>,
): Promise<(Result | Error)[]> => {
  const firsts = firstsById(plants);
  try {
    const outcome = await retryConflicts(() => store(firsts));
    const stored = new Set(firsts);
    return plants.map((plant) => (stored.has(plant) ? outcome(plant.id) : idTaken(plant.id)));
  } catch (error) {
    if (isRowRefusal(error) && plants.length > 1) return inHalves(plants, (part) => storeBatch(part, store));
    // An interrupted batch is not retried: if it was stored after all, its ids would seem taken.
    return plants.map(() => toWriteError(error));
  }
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
