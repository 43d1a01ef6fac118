import type { ObservedQueue } from './queue-observer.ts';

/** The queues of a process, as long as it runs. */
export const createWatchedQueues = () => {
  const queues: ObservedQueue[] = [];
  const sumOf = (numberOf: (queue: ObservedQueue) => number) => queues.reduce((sum, queue) => sum + numberOf(queue), 0);
  return {
    watch: (queue: ObservedQueue): void => void queues.push(queue),
    /** What waits in them, and what is sent. */
    inUse: () => ({
      queued: sumOf(({ length }) => length()),
      queuedBytes: sumOf(({ bytes }) => bytes()),
      sent: sumOf(({ inProgress }) => inProgress()),
    }),
  };
};
