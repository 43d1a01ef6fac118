/** The middle of the values that are known: of an even number, the mean of the two in the middle. */
export const median = (values: (number | undefined)[]): number | undefined => {
  const known = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  const [low, high] = [known[Math.floor((known.length - 1) / 2)], known[Math.ceil((known.length - 1) / 2)]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
};
