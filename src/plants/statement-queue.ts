import { AsyncResource } from 'node:async_hooks';
import { type BatchLimits, createBatchQueue } from './batch-queue.ts';
import type { ObservedQueue, QueueObserver } from './queue-observer.ts';

type StatementQueueOptions = {
  /** The error of a statement that was sent and not answered before the deadline. */
  lateError: () => Error;
  observe?: ((queue: ObservedQueue) => QueueObserver | undefined) | undefined;
  limits: BatchLimits;
};

/** What a request asks of a statement queue. */
export type Statement<Result> = {
  send: () => Promise<Result>;
  /** About how many bytes it holds while it waits. */
  bytes: number;
  /** How long it may wait for its outcome, in ms. */
  timeout: number;
  /** Whether nobody waits for it any more: it is dropped, if it was not sent. */
  isAbandoned?: (() => boolean) | undefined;
};

/**
 * Sends a statement in its turn, in the trace of its request.
 * @throws {OverloadedError} the late error, what `send` threw
 */
export type StatementQueue = <Result>(statement: Statement<Result>) => Promise<Result>;

/** A queue of statements that cannot share one. It limits how many connections they take together. */
export const createStatementQueue = (options: StatementQueueOptions): StatementQueue => {
  const queue = createBatchQueue<Pick<Statement<unknown>, 'send' | 'bytes'>, unknown>({
    ...options,
    run: (statements) => Promise.all(statements.map(({ send }) => send())),
    bytesOf: ({ bytes }) => bytes,
    limits: { ...options.limits, batchItems: 1 },
  });
  return <Result>({ send, bytes, timeout, isAbandoned }: Statement<Result>) =>
    queue.add({ send: AsyncResource.bind(send), bytes }, isAbandoned, timeout) as Promise<Result>;
};
