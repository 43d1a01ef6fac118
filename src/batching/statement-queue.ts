import { type BatchLimits, createBatchQueue } from './batch-queue.ts';
import type { ObservedQueue, QueueObserver } from './queue-observer.ts';

type StatementQueueOptions = {
  /** Creates the error for a statement that was sent but did not finish before its deadline. */
  lateError: () => Error;
  observe?: ((queue: ObservedQueue) => QueueObserver | undefined) | undefined;
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
 * @throws {overloaded} the late error, or any error of `send`
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
