/** Progress goes to standard error: standard output holds the report alone. */
export const say = (line: string): void => {
  process.stderr.write(`bench: ${line}\n`);
};

/** Counts steps of a known number, and says what is under way, how far it is, and how long the rest takes. */
export const createProgress = (total: number) => {
  const startedAt = Date.now();
  let done = 0;
  const rest = () => {
    const minutes = ((Date.now() - startedAt) / done) * ((total - done) / 60_000);
    return minutes < 1 ? 'less than a minute to go' : `about ${Math.round(minutes)} min to go`;
  };
  return {
    step: (line: string): void => {
      done += 1;
      say(`[${done}/${total}] ${line}${done < total ? ` (${rest()})` : ''}`);
    },
    /** Steps that fall away, for instance because their target did not start. */
    skip: (steps: number): void => {
      done += steps;
    },
  };
};

export type Progress = ReturnType<typeof createProgress>;
