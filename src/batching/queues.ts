import { lateRead } from '../database/within-time.ts';
import { type BatchQueueOptions, createBatchQueue } from './batch-queue.ts';

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
 * Sends a statement when it is its turn.
 * @throws {StoreError} 1500 the late error, or any error of `send`
 */
export type StatementQueue = <Result>(statement: Statement<Result>) => Promise<Result>;

type Options = BatchQueueOptions<Pick<Statement<unknown>, 'send' | 'bytes'>, unknown>;

/** A queue of statements that cannot be batched. Limits how many connections they use. */
export const createStatementQueue = (options: Omit<Options, 'run' | 'bytesOf'>): StatementQueue => {
  const queue = createBatchQueue({
    ...options,
    run: (statements) => Promise.all(statements.map(({ send }) => send())),
    bytesOf: ({ bytes }) => bytes,
    limits: { ...options.limits, batchItems: 1 },
  });
  return <Result>({ send, bytes, timeout, isAbandoned }: Statement<Result>) =>
    queue.add({ send, bytes }, isAbandoned, timeout) as Promise<Result>;
};

/**
 * Batches look-ups of a few bytes: concurrent ones share a statement.
 * @param run returns the results in the order of its items
 * @returns a function that looks one item up
 * @throws {StoreError} 1500 or any error of `run`
 */
export const createLookUpQueue = <Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  options: Pick<Options, 'limits' | 'observe'>,
) => createBatchQueue<Item, Result>({ run, lateError: lateRead, ...options }).add;
