import { addAbortListener } from 'node:events';
import { importAtomically } from './import-atomically.ts';
import type { ImportContext, ReadRows } from './import-context.ts';
import { adviseRepeat, ImportInterruptedError } from './import-errors.ts';
import { createChunk, createLanes } from './import-lanes.ts';
import type { ImportOptions, ImportSummary } from './import-summary.ts';
import { createTally } from './import-tally.ts';

/**
 * Imports plants in chunks, or atomically. Reads rows no faster than it stores them, so that memory is bounded. However the
 * import ends, chunks in flight are finished.
 * @throws {ImportInterruptedError} its cause is the error of the rows or the database, or the signal's reason
 * @throws {AtomicImportTooLargeError}
 */
export const importPlants = (read: ReadRows, options: ImportOptions, context: ImportContext): Promise<ImportSummary> =>
  options.atomic ? importAtomically(read, options, context) : importInChunks(read, options, context);

const importInChunks = async (
  read: ReadRows,
  options: ImportOptions,
  { repository, signal: stopSignal, onProgress }: ImportContext,
): Promise<ImportSummary> => {
  const tally = createTally(options);
  // A chunk can also end the import, while the reader waits for a row that may never come.
  const ending = new AbortController();
  const { signal } = ending;
  const stopListener = addAbortListener(stopSignal, () => ending.abort(stopSignal.reason));
  const onStored = () => {
    onProgress?.({ ...tally.counts, storedUpTo: lanes.storedUpTo() });
    if (tally.isOver()) ending.abort(TOO_MANY_FAILED);
  };
  const lanes = createLanes({
    open: () => repository.open(options),
    tally,
    onStored,
    onFailed: (cause) => ending.abort(cause),
  });
  const chunk = createChunk();
  const sendFullChunks = async () => {
    for await (const row of read(signal)) {
      signal.throwIfAborted();
      if ('error' in row) tally.fail(row);
      else {
        const full = chunk.add(row);
        if (full) await lanes.send(full);
      }
      if (tally.isOver()) break;
    }
  };
  try {
    await sendFullChunks().catch((error: unknown) => {
      if (signal.reason !== TOO_MANY_FAILED) throw error;
    });
    // Rows before the one that exceeded `maxErrors` are stored, too.
    await lanes.send(chunk.take());
    await lanes.finish();
    return { ...tally.counts, errors: tally.errors(), isAccepted: !tally.isOver() };
  } catch (error) {
    // Finishes the chunks in flight. If one failed, it interrupted the reader.
    const cause = await lanes.finish().then(
      () => error,
      (failure: unknown) => failure,
    );
    const storedUpTo = lanes.storedUpTo();
    const stored = lanes.hasBegun() ? describeStored(storedUpTo, tally.counts.failed) : 'No row is stored';
    const advice = adviceFor(options, stored);
    throw new ImportInterruptedError(stopSignal.aborted ? stopSignal.reason : cause, {
      storedUpTo,
      counts: tally.counts,
      advice,
    });
  } finally {
    stopListener[Symbol.dispose]();
    await lanes.close();
  }
};

const TOO_MANY_FAILED = new Error('Too many rows failed');

const describeStored = (storedUpTo: number, failed: number): string =>
  storedUpTo === 0
    ? 'It is not known whether any row is stored'
    : `Every row up to line ${storedUpTo} is stored${failed > 0 ? ', except those that failed' : ''}`;

const adviceFor = (options: ImportOptions, stored: string): string =>
  options.dryRun ? 'Nothing is stored because this was a dry run.' : `${stored}. ${adviseRepeat(options)}`;
