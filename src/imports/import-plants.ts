import { isOfKind } from '../errors.ts';
import type { ImportOptions, ImportProgress, ImportSummary, ReadRows } from './import.ts';
import { importAtomically } from './import-atomically.ts';
import { ImportInterruptedError, repeatStored } from './import-errors.ts';
import { chunksOf, createLanes } from './import-lanes.ts';
import type { Pace } from './import-pace.ts';
import type { ImportRepository } from './import-repository.ts';
import { createTally } from './import-tally.ts';

type ImportSettings = {
  repository: ImportRepository;
  /** By default, at full speed. */
  pace?: Pace | undefined;
  /** Stops the import before its next rows. */
  signal: AbortSignal;
  /** Cuts off the statements in progress. */
  cut?: AbortSignal | undefined;
  /** Called after each chunk. */
  onProgress?: ((progress: ImportProgress) => void) | undefined;
};

/**
 * Imports plants in chunks, or atomically. Reads rows no faster than it stores them, so that memory is bounded. However the
 * import ends, chunks in flight are finished.
 * @throws {ImportInterruptedError} its cause is the error of the rows or the database, or the signal's reason
 * @throws {StoreError} 1005 if the import needs a session
 */
export const importPlants = (
  read: ReadRows,
  options: ImportOptions,
  settings: ImportSettings,
): Promise<ImportSummary> =>
  options.atomic ? importAtomically(read, options, settings) : importInChunks(read, options, settings);

const importInChunks = async (
  read: ReadRows,
  options: ImportOptions,
  { repository, pace = (rows, store) => store(rows), signal: stopSignal, cut, onProgress }: ImportSettings,
): Promise<ImportSummary> => {
  const tally = createTally(options);
  // A chunk can also end the import, while the reader waits for a row that may never come.
  const ending = new AbortController();
  const signal = AbortSignal.any([stopSignal, ending.signal]);
  const lanes = createLanes({
    open: () => repository.open(options, cut),
    pace,
    signal: stopSignal,
    tally,
    onStored: () => {
      onProgress?.({ ...tally.counts, storedUpTo: lanes.storedUpTo() });
      if (tally.isOver()) ending.abort(TOO_MANY_FAILED);
    },
    onFailed: (cause) => ending.abort(cause),
  });
  /** The plants before the row at which the import must stop. */
  const readPlants = async function* () {
    try {
      for await (const rows of read(signal)) {
        yield tally.takePlants(rows);
        if (tally.isOver()) return;
        signal.throwIfAborted();
      }
    } catch (error) {
      if (signal.reason !== TOO_MANY_FAILED) throw error;
    }
  };
  try {
    for await (const chunk of chunksOf(readPlants())) {
      const wanted = tally.wanted(chunk);
      if (wanted.length > 0) await lanes.send(wanted);
    }
    await lanes.finish();
    return { ...tally.counts, errors: tally.errors(), stoppedAt: tally.stoppedAt(), isAccepted: !tally.isOver() };
  } catch (error) {
    // Finishes the chunks in flight. If one failed, it interrupted the reader.
    const reason = await lanes.finish().then(
      () => error,
      (failure: unknown) => failure,
    );
    if (isOfKind(reason, 'parameterWrong')) throw reason;
    const { counts } = tally;
    const storedUpTo = lanes.storedUpTo();
    const isUnknown = lanes.isAnyUnknown() || counts.created + counts.replaced > 0;
    const cause = stopSignal.aborted ? stopSignal.reason : reason;
    const stored = describeStored(storedUpTo, counts.failed, isUnknown);
    const interruption = { cause, storedUpTo, counts, errors: tally.errors() };
    if (options.dryRun) throw new ImportInterruptedError('Nothing is stored because this was a dry run.', interruption);
    const repeat = isUnknown || storedUpTo > 0 ? repeatStored(options) : 'unchanged';
    throw new ImportInterruptedError(stored, { ...interruption, repeat });
  } finally {
    lanes.close();
  }
};

const TOO_MANY_FAILED = new Error('Too many rows failed');

const describeStored = (storedUpTo: number, failed: number, isUnknown: boolean): string => {
  if (storedUpTo > 0)
    return `Every row up to line ${storedUpTo} is stored${failed > 0 ? ', except those that failed' : ''}.`;
  return isUnknown ? 'It is not known whether any row is stored.' : 'No row is stored.';
};
