const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** The milliseconds of a text such as `45m`, `12h` or `30d`; undefined where it is none, or longer than a century. */
export const parseDuration = (text: string): number | undefined => {
  const [, count, unit] = /^([1-9]\d{0,9})([smhdw])$/.exec(text) ?? [];
  const duration = Number(count) * UNITS[unit as keyof typeof UNITS];
  return duration <= 36_525 * UNITS.d ? duration : undefined;
};
