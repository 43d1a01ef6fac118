/** The maximum number of characters of a value in a message. */
const MAX_LENGTH = 60;

/**
 * A wrong value, for a message: short, on one line, and without control characters. Not for tokens, passwords and URLs that
 * may have one.
 */
export const quoteValue = (value: unknown): string => {
  if (typeof value === 'string') return quoteText(value);
  if (Array.isArray(value)) return `an array of ${value.length} values`;
  if (typeof value === 'object' && value !== null) return 'an object';
  // A double that was rounded would be another number than the one that was sent.
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) return `about ${value.toPrecision(3)}`;
  return String(value);
};

const quoteText = (text: string): string => {
  const shown = text.length > MAX_LENGTH ? text.slice(0, MAX_LENGTH) : text;
  // JSON escapes C0 and unpaired surrogates; not DEL, C1, and what starts a new line or changes the direction of text.
  const quoted = JSON.stringify(shown).replace(/[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, escapeCharacter);
  return text.length > MAX_LENGTH ? `${quoted}… (${text.length.toLocaleString('en-US')} characters)` : quoted;
};

const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
