import { StoreError } from '../errors.ts';
import { quoteValue } from '../quote-value.ts';
import { countLineEnds } from './decode-text.ts';

/** The possible delimiters; the first is the default. */
const DELIMITERS = [',', ';', '\t'];
/** The maximum number of characters to wait for the end of the header row. */
const MAX_HEAD = 16_384;
/** A CR at the end may be half of a CRLF. */
const LINE_END = /\n|\r./s;

/** Where records begin. `text`: what has arrived from there on. */
type CsvStart = { delimiter: string; line: number; text: string };

/**
 * Creates a function that finds the header row and its delimiter.
 * @param given overrides the delimiter that is recognized; `tab` is a tab
 */
export const createCsvHead = (given?: string) => {
  const chosen = given === 'tab' ? '\t' : given;
  let text = '';
  let line = 1;

  /** Counts rows without a value or a quote instead of keeping them, because a file can begin with any number of them. */
  const skipEmptyRows = (isLast: boolean) => {
    const [empty = ''] = /^[\r\n,;\t ]*/.exec(text) ?? [];
    const isAll = empty.length === text.length;
    // A CR at the end may be half of a CRLF.
    const rows = isAll && !isLast ? empty.replace(/\r$/, '') : empty;
    const start = isAll && isLast ? rows.length : 1 + Math.max(rows.lastIndexOf('\n'), rows.lastIndexOf('\r'));
    line += countLineEnds(text.slice(0, start));
    text = text.slice(start);
  };

  /**
   * @param isLast whether the piece ends the file
   * @returns undefined until the header row has arrived, or MAX_HEAD
   * @throws {StoreError} 1000 for UTF-16, 1003 for another delimiter in a line `sep=`
   */
  return (piece: string, isLast: boolean): CsvStart | undefined => {
    text += piece;
    skipEmptyRows(isLast);
    if (!isLast && text.length < MAX_HEAD && !LINE_END.test(text)) return undefined;
    const [row = '', content = ''] = /^([^\r\n]*)(?:\r\n?|\n|$)/.exec(text) ?? [];
    if (content.includes('\0')) throw new StoreError('bodyNotJson', WIDE);
    const named = delimiterIn(content);
    if (named === undefined) return { delimiter: chosen ?? delimiterOf(content), line, text };
    return { delimiter: chosen ?? named, line: line + 1, text: text.slice(row.length) };
  };
};

const WIDE =
  'The header row has NUL characters, as in UTF-16. If the file is in utf-16le or utf-16be, state this encoding.';

/** The delimiter that a line `sep=;` names, which some spreadsheets write first. @throws {StoreError} 1003 */
const delimiterIn = (line: string): string | undefined => {
  const [, named] = /^"?sep=([^"]?)"?$/i.exec(line) ?? [];
  if (named === undefined || DELIMITERS.includes(named)) return named;
  const message = `The first line is ${quoteValue(line.trim())}, but fields must be separated by commas, semicolons or tabs.`;
  throw new StoreError('fieldWrong', message);
};

/** The delimiter that separates the columns `id` and `name`, or else one of them from others. */
const delimiterOf = (row: string): string => {
  const separates = (delimiter: string, count: number) => {
    const names = row.split(delimiter).map((name) => toColumnName(name.trim().replace(/^"(.*)"$/, '$1')));
    return names.length > 1 && ['id', 'name'].filter((name) => names.includes(name)).length >= count;
  };
  const find = (count: number) => DELIMITERS.find((delimiter) => separates(delimiter, count));
  return find(2) ?? find(1) ?? ',';
};

/** Columns are named regardless of case and surrounding blanks. */
export const toColumnName = (text: string): string => text.trim().toLowerCase();
