/** The state of a queue, for its observer. */
export type ObservedQueue = {
  /** How many items are waiting. */
  length: () => number;
  /** How many items were sent to PostgreSQL and have no outcome yet. */
  inProgress: () => number;
  /** The maximum number of waiting items. */
  limit: number;
  /** The approximate number of bytes that waiting items hold. */
  bytes: () => number;
  /** The maximum number of these bytes. */
  byteLimit: number;
};

/** Observes the items of a queue. `Note`: what the observer stores for each item. */
export type QueueObserver<Note = unknown> = {
  /** Called when an item is queued, in the async context of its request. */
  enter?(): Note;
  /** Called when a waiting item is dropped. */
  drop?(note: Note): void;
  /** Called to run a batch of these items. Must call `run` once and return its result. */
  around<Result>(notes: Note[], run: () => Promise<Result>): Promise<Result>;
};
