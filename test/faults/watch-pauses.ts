import { monitorEventLoopDelay } from 'node:perf_hooks';

const NANOSECONDS = 1e6;

/**
 * Measures pauses of this process, which runs all clients. The store is not responsible for them.
 * @returns a function that stops measuring and returns the longest pause in ms
 */
export const watchPauses = (): (() => number) => {
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  return () => {
    delays.disable();
    return delays.max / NANOSECONDS;
  };
};
