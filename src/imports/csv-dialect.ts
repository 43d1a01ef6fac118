import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { quoteValue } from '../quote-value.ts';

/** The possible delimiters; the first is the default. */
const DELIMITERS = [',', ';', '\t'];

/** The maximum number of bytes of a file to examine. */
const MAX_HEAD = 16_384;

/** `start`: where the header row begins, in bytes. `line`: its line, from 1. */
type Dialect = { delimiter: string; start: number; line: number };

/**
 * Recognizes the delimiter from the header row, or from a first line `sep=;` as Excel writes it.
 * @param head the beginning of the file; a line `sep=` is ASCII, so its length is that in bytes
 * @param given overrides what is recognized; `tab` is a tab
 * @returns undefined if more of the file is needed
 * @throws {ApiError} 1000 for UTF-16, 1003 for another delimiter in a line `sep=`
 */
export const recognizeDialect = (head: string, isWhole: boolean, given?: string): Dialect | undefined => {
  const chosen = given === 'tab' ? '\t' : given;
  const [row, blank = '', text = ''] = /^([\r\n]*)([^\r\n][^\n]*)\n/.exec(head) ?? [];
  if (row === undefined && !isWhole && head.length < MAX_HEAD) return undefined;
  if ((text || head).includes('\0'))
    throw new ApiError(
      commonErrors.bodyNotJson,
      'The CSV is not UTF-8. If the file is in utf-16le, state this encoding.',
    );
  const [, named] = /^"?sep=([^"\r]?)"?\r?$/i.exec(text) ?? [];
  if (named === undefined || row === undefined)
    return { delimiter: chosen ?? delimiterOf(text || head), start: 0, line: 1 };
  if (!DELIMITERS.includes(named)) {
    const message = `The first line is ${quoteValue(text.trim())}, but fields must be separated by commas, semicolons or tabs.`;
    throw new ApiError(commonErrors.fieldWrong, message);
  }
  return { delimiter: chosen ?? named, start: row.length, line: 1 + blank.split('\n').length };
};

/** The delimiter that separates the columns `id` and `name`. */
const delimiterOf = (row: string) =>
  DELIMITERS.find((delimiter) => {
    const names = row.split(delimiter).map((name) => toColumnName(name.trim().replace(/^"(.*)"$/, '$1')));
    return names.includes('id') && names.includes('name');
  }) ?? ',';

/** Columns are named regardless of case and surrounding blanks. */
export const toColumnName = (text: string): string => text.trim().toLowerCase();
