/** The monotonic clock of this process, which can be put forward. Not with Jest's mocks: those keep every call. */
export const createClock = () => {
  const now = performance.now.bind(performance);
  let offset = 0;
  performance.now = () => now() + offset;
  return {
    now: () => performance.now(),
    /** Only while no request is under way: all deadlines pass. `duration` is in ms. */
    advance: (duration: number): void => {
      offset += duration;
    },
    restore: (): void => {
      performance.now = now;
    },
  };
};

export type Clock = ReturnType<typeof createClock>;
