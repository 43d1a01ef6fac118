import { InvalidArgumentError } from 'commander';
import type { z } from 'zod';

/** Parses an option as the query parameter of the same meaning is parsed. */
export const parseAs =
  <Output>(schema: z.ZodType<Output>) =>
  (text: string): Output => {
    const { data, error } = schema.safeParse(text);
    if (error) throw new InvalidArgumentError(`It ${error.issues[0]?.message}.`);
    return data;
  };

export const parsePort = (text: string): string => {
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535) return text;
  throw new InvalidArgumentError('It must be a TCP port, 1 to 65535.');
};

export const parseBrowser = (text: string): string => {
  if (!text.startsWith('-')) return text;
  throw new InvalidArgumentError('It must be the name of a browser, or "none".');
};

export const parseTokenName = (text: string): string => {
  // No leading hyphen: if the name is missing, commander takes the next option as the name.
  if (/^[\w.@][\w.@-]{0,63}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 64 letters, digits or . _ @ - and must not begin with -');
};

export const parseExpiry = (text: string): Date => {
  const duration = parseDuration(text);
  if (duration === undefined) throw new InvalidArgumentError('It must be a duration such as 45m, 12h, 30d or 52w.');
  return new Date(Date.now() + duration);
};

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** A text such as `45m`, `12h` or `30d` in milliseconds; undefined if it is not a duration or exceeds a century. */
export const parseDuration = (text: string): number | undefined => {
  const [, count, unit] = /^([1-9]\d{0,9})([smhdw])$/.exec(text) ?? [];
  const duration = Number(count) * UNITS[unit as keyof typeof UNITS];
  return duration <= 36_525 * UNITS.d ? duration : undefined;
};
