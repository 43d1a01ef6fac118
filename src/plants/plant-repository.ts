import type { Database } from '../database/database.ts';
import { isUniqueViolation } from '../database/database-error.ts';
import type { NewPlant } from './plant.ts';

/** A plant with this id is stored already. Nothing was changed. */
export class PlantIdTakenError extends Error {
  override name = 'PlantIdTakenError';
  readonly id: bigint;

  constructor(id: bigint) {
    super(`The id ${id} is taken.`);
    this.id = id;
  }
}

export const createPlantRepository = ({ database }: { database: Database }) => ({
  /**
   * Stores a plant; it is on disk when the promise is fulfilled.
   * @throws {PlantIdTakenError} when its id is taken, whatever the stored plant is
   */
  create: async ({ id, name, tag }: NewPlant): Promise<void> => {
    try {
      await database.plant.create({ data: { id, name, tag: tag ?? null }, select: { id: true } });
    } catch (error) {
      if (isUniqueViolation(error)) throw new PlantIdTakenError(id);
      throw error;
    }
  },
});
