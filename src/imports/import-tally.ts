import { isRowRefusal } from '../database/database-error.ts';
import { isOfKind, errors as kinds } from '../errors.ts';
import {
  type ImportCounts,
  type ImportOptions,
  type ImportRow,
  NO_COUNTS,
  type PlantRow,
  type RowError,
} from './import.ts';

/** The outcome of a row: undefined if it was created, an error if its id is taken or the database rejected it. */
export type RowOutcome = undefined | 'replaced' | Error;

const REFUSED = { error: kinds.fieldWrong.code, message: 'The database rejected the plant.' };

/** Whether an error is about a single row rather than about the database. */
export const isOfRow = (error: Error): boolean => isOfKind(error, 'idTaken') || isRowRefusal(error);

/** Counts the outcomes of rows and collects their errors. */
export const createTally = ({ onConflict, maxErrors }: Pick<ImportOptions, 'onConflict' | 'maxErrors'>) => {
  const counts: ImportCounts = { ...NO_COUNTS };
  const errors: RowError[] = [];

  /** Whether too many rows failed, so the import must stop. */
  const isOver = () => counts.failed > maxErrors;

  const fail = (error: RowError) => {
    errors.push(error);
    // Chunks in flight can fail after the line at which the import stops. Those rows count as not read.
    if (!isOver()) counts.failed += 1;
  };

  /** The first errors in line order: at most `maxErrors`, and the one that stopped the import. */
  const firstErrors = () => errors.toSorted((a, b) => a.line - b.line).slice(0, maxErrors + 1);
  /** The line at which the import stops. Rows have outcomes in any order, so it can move back until all have one. */
  const stoppedAt = () => (isOver() ? firstErrors().at(-1)?.line : undefined);

  const add = ({ line, plant: { id } }: PlantRow, outcome: RowOutcome) => {
    if (outcome === undefined) counts.created += 1;
    else if (outcome === 'replaced') counts.replaced += 1;
    else if (isOfKind(outcome, 'idTaken') && onConflict === 'skip') counts.skipped += 1;
    else if (isOfKind(outcome, 'idTaken')) {
      // With `replace`, an id is only taken by an earlier row of the same import.
      const message = onConflict === 'replace' ? `The id ${id} occurs earlier in this import.` : outcome.message;
      fail({ line, id, error: kinds.idTaken.code, message });
    } else if (isRowRefusal(outcome)) fail({ line, id, ...REFUSED });
    else throw outcome;
  };

  return {
    counts,
    isOver,
    stoppedAt,
    /** Counts the rows that are not valid. @returns the others, up to the one at which the import must stop */
    takePlants: (rows: ImportRow[]): PlantRow[] => {
      const plants: PlantRow[] = [];
      for (const row of rows) {
        if ('plant' in row) plants.push(row);
        else fail(row);
        if (isOver()) break;
      }
      return plants;
    },
    /** @returns the plants of a chunk up to the line at which the import stops */
    wanted: (rows: PlantRow[]): PlantRow[] => {
      const last = stoppedAt();
      return last === undefined ? rows : rows.filter(({ line }) => line <= last);
    },
    /** @throws an outcome that is an error but not about its row */
    addAll: (rows: PlantRow[], outcomes: RowOutcome[]): void => {
      for (const [index, row] of rows.entries()) add(row, outcomes[index]);
    },
    errors: firstErrors,
  };
};

export type ImportTally = ReturnType<typeof createTally>;
