import { DatabaseTimeoutError } from '../database/within-time.ts';
import { type BatchLimits, createBatchQueue, type ObserveQueue } from './batch-queue.ts';

type StatementQueueOptions = {
  /** Creates the error for a statement that was sent but did not finish before its deadline. */
  lateError: () => Error;
  name?: string;
  observe?: ObserveQueue | undefined;
  limits: BatchLimits;
};

export type Statement<Result> = {
  send: () => Promise<Result>;
  /** The approximate number of bytes that it holds while it waits. */
  bytes: number;
  /** The deadline for its outcome, in ms from now. */
  timeout: number;
  /** Whether the client has disconnected. The statement is then dropped unless it was already sent. */
  isAbandoned?: (() => boolean) | undefined;
};

/**
 * Sends a statement when it is its turn, in the trace of its request.
 * @throws {StoreError} 1500 the late error, or any error of `send`
 */
export type StatementQueue = <Result>(statement: Statement<Result>) => Promise<Result>;

/** A queue of statements that cannot be batched. Limits how many connections they use. */
export const createStatementQueue = (options: StatementQueueOptions): StatementQueue => {
  const queue = createBatchQueue<Pick<Statement<unknown>, 'send' | 'bytes'>, unknown>({
    ...options,
    run: (statements) => Promise.all(statements.map(({ send }) => send())),
    bytesOf: ({ bytes }) => bytes,
    limits: { ...options.limits, batchItems: 1 },
  });
  return <Result>({ send, bytes, timeout, isAbandoned }: Statement<Result>) =>
    queue.add({ send, bytes }, isAbandoned, timeout) as Promise<Result>;
};

type LookUpOptions = { limits: BatchLimits; observe?: ObserveQueue | undefined };

/**
 * Batches look-ups of a few bytes: concurrent ones share a statement.
 * @param run returns the results in the order of its items
 * @returns a function that looks one item up
 * @throws {StoreError} 1500 or any error of `run`
 */
export const createLookUpQueue = <Item, Result>(run: (items: Item[]) => Promise<Result[]>, options: LookUpOptions) => {
  const queue = createBatchQueue<Item, Result>({
    run,
    bytesOf: () => 0,
    lateError: () => new DatabaseTimeoutError(),
    ...options,
  });
  return (item: Item): Promise<Result> => queue.add(item);
};
