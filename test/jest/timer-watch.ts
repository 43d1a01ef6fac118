import { promisify } from 'node:util';

/** Where src/ calls a function, in a stack. */
const IN_SRC = /\/src\/(?!generated\/)[\w./-]+:\d+/;

/**
 * Watches the timers that a test's modules set.
 * @param target the globals of the test
 * @returns `counts`: the timers of src/ that have not fired and were not cleared, by the line that set them
 */
export const createTimerWatch = (target: typeof globalThis) => {
  const places = new Map<unknown, string>();

  const watch = (name: 'setTimeout' | 'setInterval') => {
    const original = target[name] as (...words: unknown[]) => NodeJS.Timeout;
    const watched = (callback: (...words: unknown[]) => void, ...words: unknown[]) => {
      const timer = original(
        (...values: unknown[]) => {
          if (name === 'setTimeout') places.delete(timer);
          callback(...values);
        },
        ...words,
      );
      const [place] = IN_SRC.exec(callerOf(watched)) ?? [];
      if (place) places.set(timer, `timer of ${place.slice(1)}`);
      return timer;
    };
    const custom = { [promisify.custom]: (original as { [promisify.custom]?: unknown })[promisify.custom] };
    Object.assign(target, { [name]: Object.assign(watched, custom) });
  };
  const forget = (name: 'clearTimeout' | 'clearInterval') => {
    const original = target[name];
    const watched = (timer?: NodeJS.Timeout) => {
      places.delete(timer);
      original(timer);
    };
    Object.assign(target, { [name]: watched });
  };
  watch('setTimeout');
  watch('setInterval');
  forget('clearTimeout');
  forget('clearInterval');

  return {
    counts: (): Map<string, number> => {
      const counts = new Map<string, number>();
      for (const place of places.values()) counts.set(place, (counts.get(place) ?? 0) + 1);
      return counts;
    },
  };
};

/** The line of the stack that called a function. */
const callerOf = (callee: (...words: never[]) => unknown): string => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 1;
  const trace = { stack: '' };
  Error.captureStackTrace(trace, callee);
  Error.stackTraceLimit = stackTraceLimit;
  return trace.stack;
};
