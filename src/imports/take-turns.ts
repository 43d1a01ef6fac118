import { setImmediate } from 'node:timers/promises';

/** How long to work before other requests get their turn, in ms. */
const TURN = 1;

/**
 * Divides long work into turns, so that it does not block the event loop. By time, because the cost of a byte varies: short
 * rows that fail cost a hundred times as much as long ones.
 */
export const createTurns = () => {
  let endsAt = performance.now() + TURN;
  return {
    isOver: (): boolean => performance.now() >= endsAt,
    /** Lets others work, then begins the next turn. */
    yield: async (): Promise<void> => {
      await setImmediate();
      endsAt = performance.now() + TURN;
    },
  };
};
