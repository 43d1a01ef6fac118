import { LRUCache } from 'lru-cache';

/** How many wrong tokens an address may send in a window. The response to further ones is 429. */
const MAX_FAILURES = 60;
/** The length of a window, in ms. It begins with the first wrong token. */
const WINDOW = 60_000;
/** For the RateLimit-Policy header. */
export const WRONG_TOKENS = `"wrong-tokens";q=${MAX_FAILURES};w=${WINDOW / 1000}`;
/** Bounds the memory. The least recently seen address is forgotten, and starts from zero. */
const MAX_ADDRESSES = 10_000;

/**
 * Counts the wrong tokens of each address, in this process.
 * @returns a function that counts one, and returns how long the address must wait, in seconds; undefined below the limit
 */
export const createFailedTokens = () => {
  // By default, the cache sets a timer for each millisecond in which it is used, to read the clock only once: ttlResolution.
  const failures = new LRUCache<string, number>({
    max: MAX_ADDRESSES,
    ttl: WINDOW,
    noUpdateTTL: true,
    ttlResolution: 0,
  });
  return (address: string): number | undefined => {
    const count = (failures.get(address) ?? 0) + 1;
    failures.set(address, count);
    return count > MAX_FAILURES ? Math.max(1, Math.ceil(failures.getRemainingTTL(address) / 1000)) : undefined;
  };
};
