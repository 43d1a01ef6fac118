import { StoreError } from '../errors.ts';
import { quoteValue } from '../quote-value.ts';

/** The possible delimiters; the first is the default. */
const DELIMITERS = [',', ';', '\t'];

/** `start`: where the header row begins, in bytes. `lines`: the lines before it. */
type Dialect = { delimiter: string; start: number; lines: 0 | 1 };

/**
 * Recognizes the delimiter from the header row, or from a first line `sep=;` as Excel writes it.
 * @param head the beginning of the file, from its first line that is not empty; a line `sep=` is ASCII, so its length is that
 * in bytes
 * @param given overrides what is recognized; `tab` is a tab
 * @throws {StoreError} 1000 for UTF-16, 1003 for another delimiter in a line `sep=`
 */
export const recognizeDialect = (head: string, given?: string): Dialect => {
  const chosen = given === 'tab' ? '\t' : given;
  const [row = '', text = ''] = /^([^\r\n]*)(?:\r\n?|\n|$)/.exec(head) ?? [];
  if (text.includes('\0'))
    throw new StoreError('bodyNotJson', 'The CSV is not UTF-8. If the file is in utf-16le, state this encoding.');
  const [, named] = /^"?sep=([^"]?)"?$/i.exec(text) ?? [];
  if (named === undefined || row === text) return { delimiter: chosen ?? delimiterOf(text), start: 0, lines: 0 };
  if (!DELIMITERS.includes(named)) {
    const message = `The first line is ${quoteValue(text.trim())}, but fields must be separated by commas, semicolons or tabs.`;
    throw new StoreError('fieldWrong', message);
  }
  return { delimiter: chosen ?? named, start: row.length, lines: 1 };
};

/** The delimiter that separates the columns `id` and `name`. */
const delimiterOf = (row: string) =>
  DELIMITERS.find((delimiter) => {
    const names = row.split(delimiter).map((name) => toColumnName(name.trim().replace(/^"(.*)"$/, '$1')));
    return names.includes('id') && names.includes('name');
  }) ?? ',';

/** Columns are named regardless of case and surrounding blanks. */
export const toColumnName = (text: string): string => text.trim().toLowerCase();
