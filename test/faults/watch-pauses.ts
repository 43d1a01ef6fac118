import { monitorEventLoopDelay } from 'node:perf_hooks';

const NANOSECONDS = 1e6;

/**
 * Watches how long this process, and with it all clients, stands still: on a busy machine that is no fault of the store's.
 * @returns a function that ends it, and gives the longest pause in ms
 */
export const watchPauses = (): (() => number) => {
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  return () => {
    delays.disable();
    return delays.max / NANOSECONDS;
  };
};
