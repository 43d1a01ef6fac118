import { LRUCache } from 'lru-cache';

/** How many wrong tokens an address may send in a window. The response to further ones is 429. */
const MAX_FAILURES = 60;
/** The length of a window, in ms. It begins with the first wrong token. */
const WINDOW = 60_000;
/** Bounds the memory. The least recently seen address is forgotten, and starts from zero. */
const MAX_ADDRESSES = 10_000;

/** Counts the wrong tokens of each address, in this process. */
export const createFailedTokens = () => {
  const windows = new LRUCache<string, { failures: number; endsAt: number }>({ max: MAX_ADDRESSES });
  return {
    /** Counts a wrong token. @returns how long the address must wait, in seconds; undefined if it is below the limit */
    count: (address: string): number | undefined => {
      const now = Date.now();
      const last = windows.get(address);
      // A window that ends too far in the future began before the clock was set back.
      const isOpen = last && last.endsAt > now && last.endsAt <= now + WINDOW;
      const window = isOpen ? last : { failures: 0, endsAt: now + WINDOW };
      window.failures += 1;
      windows.set(address, window);
      return window.failures > MAX_FAILURES ? Math.ceil((window.endsAt - now) / 1000) : undefined;
    },
  };
};

export type FailedTokens = ReturnType<typeof createFailedTokens>;
