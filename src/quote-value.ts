/** The maximum number of characters of a value in a message. */
const MAX_LENGTH = 60;
/** The maximum size of a quoted value in a JSON body, in bytes: JSON escapes take up to seven for a character. */
const MAX_SIZE = 150;

/**
 * A wrong value, for a message: short, on one line, and without control characters. Not for tokens, passwords and URLs that
 * may have one.
 */
export const quoteValue = (value: unknown): string => {
  if (typeof value === 'string') return shorten(value, escapeText);
  if (isRawJson(value)) return shorten(value.rawJSON, (shown) => shown);
  if (Array.isArray(value)) return `an array of ${value.length} values`;
  if (typeof value === 'object' && value !== null) return 'an object';
  // A double that was rounded would be another number than the one that was sent.
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    return Number.isFinite(value) ? `about ${value.toPrecision(3)}` : 'a number of more than 308 digits';
  return String(value);
};

/** A number for people, rounded, such as 10,000. */
export const formatCount = (count: number): string => Math.round(count).toLocaleString('en-US');

/** https://tc39.es/proposal-json-parse-with-source/; TypeScript has no types for it yet. */
const { isRawJSON: isRawJson } = JSON as unknown as { isRawJSON: (value: unknown) => value is { rawJSON: string } };

const shorten = (text: string, quote: (shown: string) => string): string => {
  let shown = text.slice(0, MAX_LENGTH);
  let quoted = quote(shown);
  while (Buffer.byteLength(JSON.stringify(quoted)) > MAX_SIZE) {
    shown = shown.slice(0, (shown.length * 3) / 4);
    quoted = quote(shown);
  }
  return shown.length < text.length ? `${quoted}… (${formatCount(text.length)} characters)` : quoted;
};

/** JSON escapes C0 and unpaired surrogates, but not DEL, C1, and what starts a new line or changes the direction of text. */
const escapeText = (text: string): string => escapeControls(JSON.stringify(text));

/** Text of others for a terminal, which would follow control characters: keeps line ends and tabs, and escapes the others. */
export const escapeControls = (text: string): string =>
  text.replace(
    /(?![\t\n])[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
