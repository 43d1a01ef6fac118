import { parse as parseContentType } from 'content-type';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';

/**
 * Checks the Content-Type of a request: the media type must be one of `expected`, the charset UTF-8 if there is one.
 * @throws {ApiError} 1001
 */
export const readMediaType = <Expected extends string>(expected: readonly Expected[], header = ''): Expected => {
  const { type, charset } = expected.includes(header as Expected) ? { type: header } : parseMediaType(header);
  if (!expected.includes(type as Expected)) {
    const message = `The Content-Type must be ${expected.join(' or ')}.`;
    const headers = { Accept: expected.join(', ') }; // RFC 9110 §15.5.16
    throw new ApiError(commonErrors.mediaTypeNotSupported, message, { headers });
  }
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
    throw new ApiError(commonErrors.mediaTypeNotSupported, `The charset of ${type} must be utf-8.`);
  }
  return type as Expected;
};

const parseMediaType = (header: string): { type?: string; charset?: string | undefined } => {
  try {
    const { type, parameters } = parseContentType(header);
    return { type, charset: parameters.charset };
  } catch {
    return {};
  }
};
