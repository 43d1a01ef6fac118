import { OutcomeUnknownError } from '../database/database-error.ts';
import { lengthOf } from '../plants/plant.ts';
import type { PlantRow } from './import.ts';
import type { Pace } from './import-pace.ts';
import type { ImportWriter, StoreRows } from './import-repository.ts';
import type { ImportTally } from './import-tally.ts';

/** The limits of a chunk: rows, and characters of their names and tags. Small enough that other writes run between chunks. */
const MAX_CHUNK_ROWS = 2000;
const MAX_CHUNK_LENGTH = 524_288;

/** Divides rows into chunks. */
export async function* chunksOf(
  rowsInOrder: AsyncIterable<PlantRow[]> | Iterable<PlantRow[]>,
): AsyncGenerator<PlantRow[]> {
  let chunk: PlantRow[] = [];
  let length = 0;
  for await (const rows of rowsInOrder) {
    for (const row of rows) {
      length += lengthOf(row.plant);
      if (chunk.length === MAX_CHUNK_ROWS || (chunk.length > 0 && length > MAX_CHUNK_LENGTH)) {
        yield chunk;
        chunk = [];
        length = lengthOf(row.plant);
      }
      chunk.push(row);
    }
  }
  if (chunk.length > 0) yield chunk;
}

type LanesOptions = {
  /** Called before the first chunk rather than earlier, because a writer may hold a connection while the client is slow. */
  open: () => Promise<ImportWriter>;
  pace: Pace;
  tally: ImportTally;
  /** Stops the lanes before their next statements. */
  signal: AbortSignal;
  onStored: () => void;
  /** Called with the error of each chunk that failed. */
  onFailed: (cause: unknown) => void;
};

/**
 * Stores chunks concurrently. A chunk waits for earlier chunks that share an id with it, so that the first row with an id
 * wins.
 */
export const createLanes = ({ open, pace, tally, signal, onStored, onFailed }: LanesOptions) => {
  let writer: ImportWriter | undefined;
  /** Chunks in order, until they are stored. `after`: the last line of the previous chunk. */
  const unfinished = new Set<{ ids: Set<bigint>; after: number; settled: Promise<void> }>();
  let sentUpTo = 0;
  let failure: { cause: unknown } | undefined;
  let isAnyUnknown = false;

  const onError = (cause: unknown) => {
    failure ??= { cause };
    isAnyUnknown ||= cause instanceof OutcomeUnknownError;
    onFailed(cause);
  };

  return {
    /** Waits for a free lane and sends a chunk. @throws the error of an earlier chunk, or of `open`; the signal's reason */
    send: async (rows: PlantRow[]): Promise<void> => {
      writer ??= await open();
      const { lanes, store } = writer;
      const ids = new Set(rows.map(({ plant }) => plant.id));
      const mustWait = () =>
        unfinished.size >= lanes || unfinished.values().some((chunk) => !chunk.ids.isDisjointFrom(ids));
      while (failure === undefined && mustWait()) {
        await Promise.race(unfinished.values().map(({ settled }) => settled));
      }
      if (failure !== undefined) throw failure.cause;
      signal.throwIfAborted();
      const chunk = { ids, after: sentUpTo, settled: Promise.resolve() };
      unfinished.add(chunk);
      sentUpTo = rows.at(-1)?.line ?? sentUpTo;
      // A chunk may be stored in parts. With the reason as an outcome, those already stored are counted.
      const storeUnlessStopped: StoreRows = async (part) =>
        signal.aborted ? part.map(() => signal.reason) : store(part);
      chunk.settled = pace(rows, storeUnlessStopped)
        .then((outcomes) => {
          tally.addAll(rows, outcomes);
          unfinished.delete(chunk);
          onStored();
        })
        .catch(onError);
    },
    /** Waits until no chunk is in flight. @throws the error of the first chunk that failed */
    finish: async (): Promise<void> => {
      await Promise.all(unfinished.values().map(({ settled }) => settled));
      if (failure !== undefined) throw failure.cause;
    },
    close: (): void => writer?.close?.(),
    /** Every row up to this line is stored or failed. */
    storedUpTo: (): number => unfinished.values().next().value?.after ?? sentUpTo,
    /** Whether rows of a chunk that failed may be stored. */
    isAnyUnknown: (): boolean => isAnyUnknown,
  };
};
