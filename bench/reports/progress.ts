/** Prints progress to standard error. Standard output holds only the report. */
export const say = (line: string): void => {
  process.stderr.write(`bench: ${line}\n`);
};

/** Prints each of `total` steps with an estimate of the time left. */
export const createProgress = (total: number) => {
  const startedAt = Date.now();
  let done = 0;
  const timeLeft = () => {
    const minutes = ((Date.now() - startedAt) / done) * ((total - done) / 60_000);
    return minutes < 1 ? 'less than a minute left' : `about ${Math.round(minutes)} min left`;
  };
  return {
    step: (line: string): void => {
      done += 1;
      say(`[${done}/${total}] ${line}${done < total ? ` (${timeLeft()})` : ''}`);
    },
    /** For steps that cannot run, for example because their target did not start. */
    skip: (steps: number): void => {
      done += steps;
    },
  };
};

export type Progress = ReturnType<typeof createProgress>;
