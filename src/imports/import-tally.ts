import { isRowRefusal } from '../database/database-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import type { NewPlant } from '../plants/plant.ts';
import { plantErrorCodes } from '../plants/plant-api-errors.ts';
import { PlantIdTakenError } from '../plants/plant-errors.ts';
import type { RowError } from './import-row.ts';
import type { ImportCounts, ImportOptions } from './import-summary.ts';

/** The outcome of a row: undefined if it was created, an error if its id is taken or the database rejected it. */
export type RowOutcome = undefined | 'replaced' | Error;

export type PlantRow = { line: number; plant: NewPlant };

const REFUSED = { error: commonErrors.fieldWrong.code, message: 'The database rejected the plant.' };

/** Whether an error is about a single row rather than about the database. */
export const isOfRow = (error: Error): boolean => error instanceof PlantIdTakenError || isRowRefusal(error);

/** Counts the outcomes of rows and collects their errors. */
export const createTally = ({ onConflict, maxErrors }: Pick<ImportOptions, 'onConflict' | 'maxErrors'>) => {
  const counts: ImportCounts = { created: 0, replaced: 0, skipped: 0, failed: 0 };
  const errors: RowError[] = [];

  const fail = (error: RowError) => {
    counts.failed += 1;
    errors.push(error);
  };

  const failTaken = (line: number, { id }: NewPlant, taken: PlantIdTakenError) => {
    // With `replace`, an id is only taken by an earlier row of the same import.
    const message = onConflict === 'replace' ? `The id ${id} occurs earlier in this import.` : taken.message;
    fail({ line, id, error: plantErrorCodes.idTaken.code, message });
  };

  return {
    counts,
    fail,
    /** @throws the outcome if it is an error that is not about the row */
    add: ({ line, plant }: PlantRow, outcome: RowOutcome): void => {
      if (outcome === undefined) counts.created += 1;
      else if (outcome === 'replaced') counts.replaced += 1;
      else if (outcome instanceof PlantIdTakenError && onConflict === 'skip') counts.skipped += 1;
      else if (outcome instanceof PlantIdTakenError) failTaken(line, plant, outcome);
      else if (isRowRefusal(outcome)) fail({ line, id: plant.id, ...REFUSED });
      else throw outcome;
    },
    /** Whether too many rows failed, so the import must stop. */
    isOver: (): boolean => counts.failed > maxErrors,
    /** The first errors in line order: as many as may occur, and the one that stopped the import. */
    errors: (): RowError[] => errors.toSorted((a, b) => a.line - b.line).slice(0, maxErrors + 1),
  };
};

export type ImportTally = ReturnType<typeof createTally>;
