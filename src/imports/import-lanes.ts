import type { ImportTally, PlantRow, RowOutcome } from './import-tally.ts';

/** The limits of a chunk: rows, and characters of their names and tags. Small enough that other writes run between chunks. */
const MAX_CHUNK_ROWS = 2000;
const MAX_CHUNK_LENGTH = 524_288;

/** Stores the rows of a chunk. @returns their outcomes, in the same order */
export type StoreRows = (rows: PlantRow[]) => Promise<RowOutcome[]>;

/** Collects rows into chunks. */
export const createChunk = () => {
  let rows: PlantRow[] = [];
  let length = 0;
  return {
    /** @returns the previous chunk if the row does not fit into it */
    add: (row: PlantRow): PlantRow[] | undefined => {
      const { name, tag } = row.plant;
      const rowLength = name.length + (tag?.length ?? 0);
      const isFull = rows.length === MAX_CHUNK_ROWS || (rows.length > 0 && length + rowLength > MAX_CHUNK_LENGTH);
      const full = isFull ? rows : undefined;
      if (isFull) {
        rows = [];
        length = 0;
      }
      rows.push(row);
      length += rowLength;
      return full;
    },
    /** @returns the remaining rows */
    take: (): PlantRow[] => {
      const taken = rows;
      rows = [];
      length = 0;
      return taken;
    },
  };
};

type Sent = { ids: Set<bigint>; lastLine: number; isStored: boolean; settled: Promise<void> };

/** Where chunks are stored. */
export type ChunkWriter = {
  store: StoreRows;
  /** The maximum number of concurrent calls of `store`. */
  lanes: number;
  close: () => Promise<void>;
};

type LanesOptions = {
  /** Called before the first chunk, because a writer may hold a connection, and the client may send its rows slowly. */
  open: () => Promise<ChunkWriter>;
  tally: ImportTally;
  onStored: () => void;
  /** Called with the error of each chunk that failed. */
  onFailed: (cause: unknown) => void;
};

/**
 * Stores chunks concurrently. A chunk waits for earlier chunks that share an id with it, so that the first row with an id
 * wins.
 */
export const createLanes = ({ open, tally, onStored, onFailed }: LanesOptions) => {
  let writer: ChunkWriter | undefined;
  /** Chunks in order, from the first that is not stored yet. */
  const sent: Sent[] = [];
  const underWay = new Set<Sent>();
  let storedUpTo = 0;
  let failure: { cause: unknown } | undefined;

  const run = async (store: StoreRows, rows: PlantRow[], chunk: Sent) => {
    try {
      const outcomes = await store(rows);
      for (const [index, row] of rows.entries()) tally.add(row, outcomes[index]);
      chunk.isStored = true;
      for (let first = sent[0]; first?.isStored; first = sent[0]) {
        storedUpTo = first.lastLine;
        sent.shift();
      }
      onStored();
    } catch (cause) {
      failure ??= { cause };
      onFailed(cause);
    } finally {
      underWay.delete(chunk);
    }
  };

  const drain = async () => {
    while (underWay.size > 0) await Promise.all([...underWay].map(({ settled }) => settled));
  };

  return {
    /** Waits for a free lane and sends a chunk. @throws the error of an earlier chunk, or of `open` */
    send: async (rows: PlantRow[]): Promise<void> => {
      const lastLine = rows.at(-1)?.line;
      if (lastLine === undefined) return;
      writer ??= await open();
      const { store, lanes } = writer;
      const ids = new Set(rows.map(({ plant }) => plant.id));
      while (underWay.size >= lanes || underWay.values().some((chunk) => !chunk.ids.isDisjointFrom(ids))) {
        await Promise.race(underWay.values().map(({ settled }) => settled));
      }
      if (failure !== undefined) throw failure.cause;
      const chunk: Sent = { ids, lastLine, isStored: false, settled: Promise.resolve() };
      sent.push(chunk);
      underWay.add(chunk);
      chunk.settled = run(store, rows, chunk);
    },
    /** Waits until no chunk is in flight. @throws the error of the first chunk that failed */
    finish: async (): Promise<void> => {
      await drain();
      if (failure !== undefined) throw failure.cause;
    },
    close: async (): Promise<void> => writer?.close(),
    /** Whether a chunk was sent. */
    hasBegun: (): boolean => writer !== undefined,
    /** Every row up to this line is stored or failed. */
    storedUpTo: (): number => storedUpTo,
  };
};
