import type { ImportContext, ReadRows } from './import-context.ts';
import { AtomicImportTooLargeError, adviseRepeat, ImportInterruptedError } from './import-errors.ts';
import { createChunk } from './import-lanes.ts';
import type { ImportOptions, ImportSummary } from './import-summary.ts';
import { createTally, type ImportTally, type PlantRow } from './import-tally.ts';

/** The limits of an atomic import: rows, and characters of their names and tags. */
export const MAX_ATOMIC_ROWS = 10_000;
const MAX_ATOMIC_LENGTH = 16_777_216;

const NOTHING_STORED = 'Nothing is stored. Repeat the import.';

/**
 * Imports all rows or none. Reads all of them before the transaction begins, so that no lock is held while waiting for the client.
 * @throws {AtomicImportTooLargeError} {ImportInterruptedError}
 */
export const importAtomically = async (
  read: ReadRows,
  options: ImportOptions,
  { repository, signal }: ImportContext,
): Promise<ImportSummary> => {
  const tally = createTally(options);
  let advice = NOTHING_STORED;
  try {
    const plants = await readAll(read, tally, signal);
    if (tally.isOver()) return refuse(tally);
    // If a row is already known to fail, only checks the others.
    const writer = await repository.open({ ...options, dryRun: options.dryRun || tally.counts.failed > 0 });
    try {
      for (const chunk of chunksOf(plants.toSorted(byId))) {
        const outcomes = await writer.store(chunk);
        for (const [index, row] of chunk.entries()) tally.add(row, outcomes[index]);
        if (tally.isOver()) break;
      }
      if (tally.counts.failed > 0) return refuse(tally);
      advice = `Either all rows are stored or none. ${adviseRepeat(options)}`;
      await writer.commit();
    } finally {
      await writer.close();
    }
    return { ...tally.counts, errors: [], isAccepted: true };
  } catch (error) {
    if (error instanceof AtomicImportTooLargeError) throw error;
    const counts = { ...NOTHING, failed: tally.counts.failed };
    throw new ImportInterruptedError(signal.aborted ? signal.reason : error, { storedUpTo: 0, counts, advice });
  }
};

/** In the order of ids, so that concurrent transactions with the same ids do not deadlock. The sort is stable. */
const byId = (a: PlantRow, b: PlantRow) => (a.plant.id < b.plant.id ? -1 : Number(a.plant.id > b.plant.id));

const NOTHING = { created: 0, replaced: 0, skipped: 0 };

const refuse = ({ counts: { failed }, errors }: ImportTally): ImportSummary => ({
  ...NOTHING,
  failed,
  errors: errors(),
  isAccepted: false,
});

const readAll = async (read: ReadRows, tally: ImportTally, signal: AbortSignal) => {
  const plants: PlantRow[] = [];
  let length = 0;
  for await (const row of read(signal)) {
    signal.throwIfAborted();
    if ('error' in row) tally.fail(row);
    else {
      plants.push(row);
      length += row.plant.name.length + (row.plant.tag?.length ?? 0);
    }
    if (tally.isOver()) break;
    if (plants.length + tally.counts.failed > MAX_ATOMIC_ROWS) throw tooLarge(`${MAX_ATOMIC_ROWS} rows`);
    if (length > MAX_ATOMIC_LENGTH) throw tooLarge(`${MAX_ATOMIC_LENGTH} characters of names and tags`);
  }
  return plants;
};

const tooLarge = (limit: string) =>
  new AtomicImportTooLargeError(`An import with atomic=true should have at most ${limit}. Nothing is stored.`);

const chunksOf = (plants: PlantRow[]): PlantRow[][] => {
  const chunk = createChunk();
  const full = plants.map((row) => chunk.add(row)).filter((rows) => rows !== undefined);
  return [...full, chunk.take()].filter((rows) => rows.length > 0);
};
