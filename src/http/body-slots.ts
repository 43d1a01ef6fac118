/** For how long a body keeps its slot, in ms, even if others wait for one. */
const MIN_HOLD_TIME = 2000;
const CHECK_INTERVAL = 250;
/** Bodies that may wait for a slot; what the system has read of each takes up to 64 KiB. */
const MAX_WAITING = 64;

type Claim = {
  /** The body may be read. */
  onGranted: () => void;
  /** The body held its slot for long while others waited, and must be dropped. */
  onLost: () => void;
};

export type BodySlots = {
  /** @returns a function that gives the slot back, or no longer waits for one; undefined where too many wait */
  take: (claim: Claim) => (() => void) | undefined;
};

/**
 * Bounds how many large bodies are read and parsed at once. A body without a slot is not read, and slots are passed on:
 * stalled uploads can neither fill the memory nor keep others out for long.
 */
export const createBodySlots = ({ count }: { count: number }): BodySlots => {
  /** When each body got its slot, in ms, the first one first. */
  const holders = new Map<Claim, number>();
  const waiting = new Set<Claim>();
  let check: NodeJS.Timeout | undefined;

  const grantNext = () => {
    const [claim] = waiting;
    if (claim === undefined || holders.size >= count) return;
    waiting.delete(claim);
    holders.set(claim, performance.now());
    claim.onGranted();
  };

  const passOn = () => {
    const latest = performance.now() - MIN_HOLD_TIME;
    const overdue = [...holders].filter(([, since]) => since <= latest).slice(0, waiting.size);
    for (const [{ onLost }] of overdue) onLost();
    if (waiting.size > 0) return;
    clearInterval(check);
    check = undefined;
  };

  return {
    take: (claim) => {
      if (waiting.size >= MAX_WAITING) return undefined;
      waiting.add(claim);
      grantNext();
      if (waiting.has(claim)) check ??= setInterval(passOn, CHECK_INTERVAL).unref();
      return () => {
        waiting.delete(claim);
        if (holders.delete(claim)) grantNext();
      };
    },
  };
};
