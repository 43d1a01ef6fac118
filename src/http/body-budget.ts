/** A budget that was exceeded is brought down to this share, so that finding the largest bodies pays. */
const SHARE_AFTER_CUT = 7 / 8;

export type BodyHold = {
  /** Counts bytes of the body that arrived. */
  add: (bytes: number) => void;
  /** The body is complete; from now on it is not given up, as its turn comes soon. */
  complete: () => void;
  release: () => void;
};

export type BodyBudget = {
  /** @param giveUp called when the body must be dropped to make room for others */
  open: (giveUp: () => void) => BodyHold;
};

/**
 * Bounds the bytes of all request bodies that the process holds at once. When they exceed `limit`, the largest bodies
 * among those still arriving are given up: whoever stalls large uploads cannot keep out small requests.
 */
export const createBodyBudget = ({ limit }: { limit: number }): BodyBudget => {
  const arriving = new Map<BodyHold, { bytes: number; giveUp: () => void }>();
  let total = 0;

  const cut = () => {
    const largestFirst = [...arriving.values()].sort((a, b) => b.bytes - a.bytes);
    for (const { giveUp } of largestFirst) {
      if (total <= limit * SHARE_AFTER_CUT) return;
      giveUp();
    }
  };

  return {
    open: (giveUp) => {
      const entry = { bytes: 0, giveUp };
      const hold: BodyHold = {
        add: (bytes) => {
          entry.bytes += bytes;
          total += bytes;
          if (total > limit) cut();
        },
        complete: () => arriving.delete(hold),
        release: () => {
          arriving.delete(hold);
          total -= entry.bytes;
          entry.bytes = 0;
        },
      };
      arriving.set(hold, entry);
      return hold;
    },
  };
};
