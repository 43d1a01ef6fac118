import { promisify } from 'node:util';
import { callersOf, placeIn } from './stack-place.ts';

/**
 * Watches the timers that a test's modules set.
 * @param target the globals of the test
 * @returns `places`: the timers of src/ and of tests that have not fired and were not cleared, by the line that set them
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
      const place = placeIn(callersOf(watched, 1));
      if (place) places.set(timer, `timer of ${place}`);
      // `using` a timer calls it.
      const dispose = timer[Symbol.dispose];
      return Object.assign(timer, {
        [Symbol.dispose]: () => {
          places.delete(timer);
          dispose.call(timer);
        },
      });
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
    places: (): Iterable<string> => places.values(),
  };
};
