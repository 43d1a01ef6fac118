import { parse } from 'content-type';
import { StoreError } from '../errors.ts';
import { quoteValue } from '../quote-value.ts';

export const US_ASCII = 'us-ascii';
/** Of a body that is one JSON document, which must be UTF-8 (RFC 8259 §8.1). ASCII is a part of it. */
const JSON_ENCODINGS = ['utf-8', US_ASCII];
const JSON_TYPE = /[/+]json$/;

/**
 * @param label as in https://encoding.spec.whatwg.org/#names-and-labels, for example `utf8` or `latin1`
 * @returns the name of the encoding; undefined if the label is unknown
 */
export const encodingOf = (label: string): string | undefined => {
  // The standard reads it as windows-1252, so bytes that are not ASCII would become wrong characters.
  if (label.trim().toLowerCase() === US_ASCII) return US_ASCII;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
};

/**
 * Reads the Content-Type of a request. Its media type must be one of `expected`, or of `aliases`, which stand for one of them. Without
 * a charset, the encoding is UTF-8.
 * @throws {StoreError} 1001
 */
export const readContentType = <Expected extends string>(
  expected: readonly Expected[],
  header = '',
  aliases: readonly (readonly [Expected, RegExp])[] = [],
): { type: Expected; encoding: string } => {
  const { type: sent, parameters } = parse(header);
  const [type] = aliases.find(([, alias]) => alias.test(sent)) ?? [sent];
  const { charset = 'utf-8' } = parameters;
  if (!expected.includes(type as Expected)) {
    const found = type === '' ? 'and there is none' : `not ${quoteValue(type)}`;
    const message = `The Content-Type must be ${expected.join(' or ')}, ${found}.`;
    const headers = { Accept: expected.join(', ') }; // RFC 9110 §15.5.16
    throw new StoreError('mediaTypeNotSupported', message, { headers });
  }
  const encoding = encodingOf(charset);
  const isJson = JSON_TYPE.test(type as Expected);
  if (encoding === undefined || (isJson && !JSON_ENCODINGS.includes(encoding))) {
    const must = isJson ? 'utf-8' : 'a label of the Encoding standard, such as utf-8, windows-1252 or utf-16le';
    const message = `The charset of ${type} must be ${must}, not ${quoteValue(charset)}.`;
    throw new StoreError('mediaTypeNotSupported', message);
  }
  return { type: type as Expected, encoding: isJson ? 'utf-8' : encoding };
};
