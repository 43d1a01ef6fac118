import { parse as parseContentType } from 'content-type';
import { StoreError } from '../errors.ts';
import { quoteValue } from '../quote-value.ts';

const UTF_8 = ['utf-8'] as const;

/**
 * Checks the Content-Type of a request: the media type must be one of `expected`, and the charset one that `charsetsOf` lists
 * for it. Without a charset, it is UTF-8.
 * @throws {StoreError} 1001
 */
export const readContentType = <Expected extends string, Charset extends string>(
  expected: readonly Expected[],
  header: string,
  charsetsOf: (type: Expected) => readonly Charset[],
): { type: Expected; charset: Charset | undefined } => {
  const { type, charset } = expected.includes(header as Expected) ? { type: header } : parseMediaType(header);
  if (!expected.includes(type as Expected)) {
    const message = `The Content-Type must be ${expected.join(' or ')}.`;
    const headers = { Accept: expected.join(', ') }; // RFC 9110 §15.5.16
    throw new StoreError('mediaTypeNotSupported', message, { headers });
  }
  const charsets = charsetsOf(type as Expected);
  const known = charsets.find((name) => name === charset?.toLowerCase());
  if (charset !== undefined && known === undefined) {
    const message = `The charset of ${type} must be ${charsets.join(' or ')}, not ${quoteValue(charset)}.`;
    throw new StoreError('mediaTypeNotSupported', message);
  }
  return { type: type as Expected, charset: known };
};

/** Like `readContentType`, for a body in UTF-8. @throws {StoreError} 1001 */
export const readMediaType = <Expected extends string>(expected: readonly Expected[], header = ''): Expected =>
  readContentType(expected, header, () => UTF_8).type;

const parseMediaType = (header: string): { type?: string; charset?: string | undefined } => {
  try {
    const { type, parameters } = parseContentType(header);
    return { type, charset: parameters.charset };
  } catch {
    return {};
  }
};
