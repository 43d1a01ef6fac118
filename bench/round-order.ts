/**
 * The order changes from round to round, so that no item always follows the same one or comes late on a machine that
 * slows down: as listed, then backwards, then from the middle, and so on.
 */
export const orderOf = <Item>(round: number, items: readonly Item[]): Item[] => {
  const start = Math.floor(((round - 1) * items.length) / 4) % items.length;
  const rotated = [...items.slice(start), ...items.slice(0, start)];
  return round % 2 === 0 ? rotated.reverse() : rotated;
};
