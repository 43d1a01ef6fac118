/** What a queue shows of itself. */
export type ObservedQueue = {
  /** How many items wait. */
  length: () => number;
  /** More are refused. */
  limit: number;
  /** How many bytes they hold, about. */
  bytes: () => number;
  /** Items that would hold more are refused. */
  byteLimit: number;
};

/** Looks on as items wait for a batch and leave with it. `Note`: what it wants to remember of an item. */
export type QueueObserver<Note = unknown> = {
  /** An item is queued, in the context of its request. */
  enter?(): Note;
  /** An item is given up that waits. */
  drop?(note: Note): void;
  /** A batch leaves, with these items; to be run once, and its result returned. */
  around<Result>(notes: Note[], run: () => Promise<Result>): Promise<Result>;
};
