import { importAtomically } from './import-atomically.ts';
import type { ImportContext } from './import-context.ts';
import { ImportInterruptedError } from './import-errors.ts';
import { createChunk, createLanes } from './import-lanes.ts';
import type { ImportRow } from './import-row.ts';
import type { ImportOptions, ImportSummary } from './import-summary.ts';
import { createTally } from './import-tally.ts';

/**
 * Imports plants in chunks, or atomically. Reads rows no faster than it stores them, so that memory is bounded. However the
 * import ends, chunks in flight are finished.
 * @throws {ImportInterruptedError} its cause is the error of the rows or the database, or the signal's reason
 * @throws {AtomicImportTooLargeError}
 */
export const importPlants = (
  rows: AsyncIterable<ImportRow>,
  options: ImportOptions,
  context: ImportContext,
): Promise<ImportSummary> =>
  options.atomic ? importAtomically(rows, options, context) : importInChunks(rows, options, context);

const importInChunks = async (
  rows: AsyncIterable<ImportRow>,
  options: ImportOptions,
  { repository, signal, onProgress }: ImportContext,
): Promise<ImportSummary> => {
  const tally = createTally(options);
  const onStored = () => onProgress?.({ ...tally.counts, storedUpTo: lanes.storedUpTo() });
  const lanes = createLanes({ open: () => repository.open(options), tally, onStored });
  const chunk = createChunk();
  try {
    for await (const row of rows) {
      signal.throwIfAborted();
      if ('error' in row) tally.fail(row);
      else {
        const full = chunk.add(row);
        if (full) await lanes.send(full);
      }
      if (tally.isOver()) break;
    }
    // Rows before the one that exceeded `maxErrors` are stored, too.
    await lanes.send(chunk.take());
    await lanes.finish();
    return { ...tally.counts, errors: tally.errors(), isAccepted: !tally.isOver() };
  } catch (error) {
    await lanes.drain();
    const storedUpTo = lanes.storedUpTo();
    const stored = lanes.hasBegun() ? describeStored(storedUpTo, tally.counts.failed) : 'No row is stored';
    const advice = adviceFor(options, stored);
    throw new ImportInterruptedError(signal.aborted ? signal.reason : error, {
      storedUpTo,
      counts: tally.counts,
      advice,
    });
  } finally {
    await lanes.close();
  }
};

const describeStored = (storedUpTo: number, failed: number): string =>
  storedUpTo === 0
    ? 'It is not known whether any row is stored'
    : `Every row up to line ${storedUpTo} is stored${failed > 0 ? ', except those that failed' : ''}`;

const adviceFor = ({ onConflict, dryRun }: ImportOptions, stored: string): string =>
  dryRun
    ? 'Nothing is stored because this was a dry run.'
    : `${stored}. Repeat the import with onConflict=${onConflict === 'replace' ? 'replace' : 'skip'}.`;
