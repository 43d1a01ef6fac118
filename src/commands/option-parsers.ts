import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { encodingOf } from '../bodies/media-type.ts';
import { parseDuration } from '../config/variable-kinds.ts';
import { SCOPES, type Scope } from '../tokens/token.ts';

/** Parses an option as the query parameter of the same meaning is parsed. */
export const parseAs =
  <Output>(schema: z.ZodType<Output>) =>
  (text: string): Output => {
    const { data, error } = schema.safeParse(text);
    if (error) throw new InvalidArgumentError(`It ${error.issues[0]?.message}.`);
    return data;
  };

/** Like `parseAs`, for an option of which commander would keep only the last value. */
export const parseOnce =
  <Output>(schema: z.ZodType<Output>) =>
  (text: string, before?: Output): Output => {
    if (before !== undefined) throw new InvalidArgumentError('It must be given only once.');
    return parseAs(schema)(text);
  };

const ENCODING_WRONG = 'must be a label of the Encoding standard, such as windows-1252 or utf-16le';

/** Returns the name of the encoding. */
export const parseEncoding = parseAs(z.string().transform(encodingOf).pipe(z.string(ENCODING_WRONG)));

/** A name of a replication slot. */
export const parseSlot = parseAs(z.string().regex(/^[a-z0-9_]{1,63}$/, 'must be 1 to 63 characters of a-z, 0-9 and _'));

/** A hyphen alone is no file, as it is for other arguments. */
export const parseFile = parseAs(
  z.string().regex(/^(?!-?$)/, 'must be the name of a file, such as /dev/stdin to read or /dev/stderr to write'),
);

const isPort = (text: string) => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535;

export const parsePort = parseAs(z.string().refine(isPort, 'must be a TCP port, 1 to 65535'));

export const parseBrowser = parseAs(z.string().regex(/^[^-]/, 'must be the name of a browser, or "none"'));

/** No leading hyphen: if the name is missing, commander takes the next option as the name. */
export const parseTokenName = parseAs(
  z.string().regex(/^[\w.@][\w.@-]{0,63}$/, 'must be 1 to 64 letters, digits or . _ @ - and must not begin with -'),
);

/** @param before those of the words before */
export const parseScopes = (text: string, before: Scope[] = []): Scope[] => {
  const { data, success } = z.array(z.enum(SCOPES)).safeParse(text.split(','));
  if (success) return [...new Set([...before, ...data])];
  throw new InvalidArgumentError(`It must be ${SCOPES.join(' or ')}; separate several by spaces or commas.`);
};

/** A century, in ms. */
const MAX_VALIDITY = 36_525 * 86_400_000;

/** In ms. Requires a unit, because a user who writes 30 may mean days. */
const parsePeriod = (text: string, minimum: number): number => {
  const period = /\D$/.test(text) ? parseDuration(text) : undefined;
  if (period === undefined || period < minimum || period > MAX_VALIDITY)
    throw new InvalidArgumentError(
      'It must be a number with a unit (s, m, h, d, w), such as 45m, 12h or 30d, and at most 100 years.',
    );
  return period;
};

export const parseExpiry = (text: string): Date => new Date(Date.now() + parsePeriod(text, 1));
export const parseOverlap = (text: string): number => parsePeriod(text, 0);
