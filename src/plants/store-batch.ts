import { classifyDatabaseError, isRowRefusal } from '../database/database-error.ts';
import type { NewPlant } from './plant.ts';
import { OutcomeUnknownError, PlantIdTakenError } from './plant-errors.ts';

/** Stores plants of different ids in one transaction; answers which ids were free and are stored now. */
export type InsertPlants = (plants: NewPlant[]) => Promise<Set<bigint>>;

/** A plant's own outcome: stored, or why not. */
export type Outcome = undefined | Error;

/** How often a batch is tried that PostgreSQL gave up in favour of another transaction. */
const MAX_ATTEMPTS = 5;

/**
 * Stores plants together, and gives each the outcome that it would have had if they had come one after another: of
 * several with one id the first wins, and a row that PostgreSQL refuses fails alone. Never rejects.
 */
export const storeBatch = async (plants: readonly NewPlant[], insert: InsertPlants): Promise<Outcome[]> => {
  const firsts = new Map<bigint, NewPlant>();
  for (const plant of plants) if (!firsts.has(plant.id)) firsts.set(plant.id, plant);
  // In the order of ids, so that stores that share ids wait for one another in a line, and not in a circle.
  const rows = [...firsts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  try {
    const stored = await insertWithRetry(rows, insert);
    return plants.map((plant) =>
      firsts.get(plant.id) === plant && stored.has(plant.id) ? undefined : new PlantIdTakenError(plant.id),
    );
  } catch (error) {
    if (isRowRefusal(error) && plants.length > 1) return storeHalves(plants, insert);
    return plants.map(() => outcomeOf(error));
  }
};

/** One row spoils the batch: its half is halved until it is alone, and the others are stored. */
const storeHalves = async (plants: readonly NewPlant[], insert: InsertPlants): Promise<Outcome[]> => {
  const middle = plants.length >> 1;
  const outcomes = await storeBatch(plants.slice(0, middle), insert);
  return outcomes.concat(await storeBatch(plants.slice(middle), insert));
};

const insertWithRetry = async (rows: NewPlant[], insert: InsertPlants): Promise<Set<bigint>> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await insert(rows);
    } catch (error) {
      if (classifyDatabaseError(error) !== 'conflict' || attempt === MAX_ATTEMPTS) throw error;
    }
  }
};

/** Not tried again: a plant that was stored after all would find its own id taken. */
const outcomeOf = (error: unknown): Error =>
  classifyDatabaseError(error) === 'interrupted'
    ? new OutcomeUnknownError('The database was lost while it stored the plant.', { cause: error })
    : (error as Error);
