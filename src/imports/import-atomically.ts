import { StoreError } from '../errors.ts';
import { lengthOf } from '../plants/plant.ts';
import {
  formatCount,
  type ImportOptions,
  type ImportSummary,
  MAX_ATOMIC_ROWS,
  NO_COUNTS,
  type PlantRow,
  type ReadRows,
} from './import.ts';
import { ImportInterruptedError, repeatStored } from './import-errors.ts';
import { chunksOf } from './import-lanes.ts';
import type { ImportRepository } from './import-repository.ts';
import { createTally, type ImportTally } from './import-tally.ts';

/** The maximum number of characters of the names and tags of an atomic import. */
const MAX_ATOMIC_LENGTH = 16_777_216;

/**
 * Imports all rows or none. Reads all of them before the transaction begins, so that no lock is held while waiting for the client.
 * @throws {ImportInterruptedError}
 */
export const importAtomically = async (
  read: ReadRows,
  options: ImportOptions,
  { repository, signal, cut }: { repository: ImportRepository; signal: AbortSignal; cut?: AbortSignal | undefined },
): Promise<ImportSummary> => {
  const tally = createTally(options);
  let isCommitting = false;
  const counts = () => ({ ...NO_COUNTS, failed: tally.counts.failed });
  const refusal = () => ({ ...counts(), errors: tally.errors(), stoppedAt: tally.stoppedAt(), isAccepted: false });
  try {
    const plants = tally.wanted(await readAll(read, tally, signal));
    if (plants.length === 0 && tally.counts.failed > 0) return refusal();
    // If a row is already known to fail, only checks the others.
    const writer = await repository.open({ ...options, dryRun: options.dryRun || tally.counts.failed > 0 }, cut);
    try {
      for await (const chunk of chunksOf([plants.toSorted(byId)])) {
        // Counts all outcomes, even if too many fail, because they are not in line order.
        tally.addAll(chunk, await writer.store(chunk));
        signal.throwIfAborted();
      }
      if (tally.counts.failed > 0) return refusal();
      isCommitting = !options.dryRun;
      await writer.commit?.();
    } finally {
      writer.close?.();
    }
    return { ...tally.counts, errors: [], isAccepted: true };
  } catch (error) {
    const cause = signal.aborted ? signal.reason : error;
    const interruption = { cause, storedUpTo: 0, counts: counts(), errors: tally.errors() };
    if (!isCommitting) throw new ImportInterruptedError('Nothing is stored.', { ...interruption, repeat: 'unchanged' });
    const stored = 'Either all rows are stored or none.';
    throw new ImportInterruptedError(stored, { ...interruption, repeat: repeatStored(options) });
  }
};

/** In the order of ids, so that concurrent transactions with the same ids do not deadlock. The sort is stable. */
const byId = (a: PlantRow, b: PlantRow) => (a.plant.id < b.plant.id ? -1 : Number(a.plant.id > b.plant.id));

const readAll = async (read: ReadRows, tally: ImportTally, signal: AbortSignal): Promise<PlantRow[]> => {
  const plants: PlantRow[] = [];
  let length = 0;
  for await (const rows of read(signal)) {
    signal.throwIfAborted();
    for (const row of tally.takePlants(rows)) {
      plants.push(row);
      length += lengthOf(row.plant);
    }
    if (tally.isOver()) break;
    if (plants.length + tally.counts.failed > MAX_ATOMIC_ROWS) throw tooLarge(`${formatCount(MAX_ATOMIC_ROWS)} rows`);
    if (length > MAX_ATOMIC_LENGTH) throw tooLarge(`${formatCount(MAX_ATOMIC_LENGTH)} characters of names and tags`);
  }
  return plants;
};

const tooLarge = (limit: string) => new StoreError('bodyTooLarge', `An atomic import must have at most ${limit}.`);
