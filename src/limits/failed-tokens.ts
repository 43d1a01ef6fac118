import { LRUCache } from 'lru-cache';
import { ApiError } from '../http/api-error.ts';

/** How many wrong tokens an address may send in a window; further ones are answered with 429. */
const MAX_FAILURES = 60;
/** The window, in ms; it begins with the first wrong token. */
const WINDOW = 60_000;
/** An address that is forgotten because there are more begins anew: memory is bounded, whoever sends what. */
const MAX_ADDRESSES = 10_000;

/** Counts the wrong tokens of each address, in this process. */
export const createFailedTokens = () => {
  const windows = new LRUCache<string, { failures: number; endsAt: number }>({ max: MAX_ADDRESSES });
  return {
    /** @throws {ApiError} 1400, where there were too many, with the `headers` of the answer that it takes the place of */
    count: (address: string, headers: Record<string, string>): void => {
      const now = Date.now();
      const last = windows.get(address);
      // One that ends later than a window that begins now is of a clock that was set back.
      const isOpen = last && last.endsAt > now && last.endsAt <= now + WINDOW;
      const window = isOpen ? last : { failures: 0, endsAt: now + WINDOW };
      window.failures += 1;
      windows.set(address, window);
      if (window.failures <= MAX_FAILURES) return;
      const wait = Math.ceil((window.endsAt - now) / 1000);
      throw new ApiError('tooManyRequests', `Too many wrong tokens came from this address; try again in ${wait} s.`, {
        headers: { ...headers, 'Retry-After': `${wait}` },
      });
    },
  };
};

export type FailedTokens = ReturnType<typeof createFailedTokens>;
