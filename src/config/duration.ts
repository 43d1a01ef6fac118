const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** @returns a duration such as `500ms`, `45m` or `30d` in ms; undefined if the text is not a duration. A number alone means seconds. */
export const parseDuration = (text: string): number | undefined => {
  const [, count, unit = 's'] = /^(\d{1,10})(ms|[smhdw])?$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * UNITS[unit as keyof typeof UNITS];
};
