import { CsvError, type Parser, parse } from 'csv-parse';
import { z } from 'zod';
import { StoreError } from '../errors.ts';
import { MAX_INT64, MIN_INT64, plantSchema } from '../plants/plant.ts';
import { quoteValue } from '../quote-value.ts';
import { countLineEnds, NUL_CHARACTERS } from './decode-text.ts';
import { type ImportRow, LINE_ENDS_LOST, toRow } from './import.ts';

/** A number that a spreadsheet has shortened, such as 1.23457E+18 or 1,23457E+18. */
const ROUNDED = /^[+-]?\d[.,]?\d*e[+-]?\d+$/i;
/** A number with separators between its digits, such as 1,000 or 1.000.000. */
const FORMATTED = /^[+-]?\d{1,3}([.,'\u2019 \u00a0\u202f]\d{3})+$/;

/** Leading zeros are allowed, but BigInt takes quadratic time on a million of them. */
const MAX_ID_LENGTH = 40;

const describeCsvId = ({ input = '' }: { input?: unknown }): string => {
  if (input === '') return 'is required';
  const wrong = `must be decimal digits with an optional sign, from ${MIN_INT64} to ${MAX_INT64}`;
  const text = typeof input === 'string' && input.length <= MAX_ID_LENGTH ? input : '';
  if (ROUNDED.test(text)) return `was rounded by a spreadsheet (format the column as text) and ${wrong}`;
  return FORMATTED.test(text) ? `was formatted by a spreadsheet (format the column as text) and ${wrong}` : wrong;
};

const csvPlantSchema = plantSchema.extend({
  id: z
    .string({ error: describeCsvId })
    .max(MAX_ID_LENGTH, { error: describeCsvId, abort: true })
    .regex(/^[+-]?\d+$/, { error: describeCsvId, abort: true })
    .transform((text) => BigInt(text.replace('+', '')))
    .pipe(z.int64({ error: describeCsvId })),
});

type CsvOptions = { maxLineBytes: number; delimiter?: string | undefined };

/**
 * Creates a function that reads plants from CSV (RFC 4180) with a header row that names at least the columns `id` and `name`.
 * An empty `tag` field without quotes means no tag.
 */
export const createCsvReader = ({ maxLineBytes, delimiter }: CsvOptions) => {
  const findStart = createCsvHead(delimiter);
  let parse: ReturnType<typeof createCsvParser> | undefined;
  let columns: Columns | undefined;
  let separator = ',';
  /** @throws {StoreError} 1000 for an invalid quote, 1002 for a row that is too long, 1003 for an invalid header row */
  return function* (text: string, isLast: boolean): Generator<ImportRow | undefined> {
    let arrived = text;
    if (parse === undefined) {
      const start = findStart(text, isLast);
      if (start === undefined) return;
      separator = start.delimiter;
      parse = createCsvParser({ ...start, maxRecordBytes: maxLineBytes });
      arrived = start.text;
    }
    for (const record of parse(arrived, isLast)) {
      // Spreadsheets write rows that were emptied.
      if (record === undefined || isEmpty(record.fields)) yield undefined;
      else if (columns === undefined) columns = findColumns(record.fields, separator);
      else yield toCsvRow(record, columns);
    }
  };
};

/** The indexes of the columns, and their number. `tag` is -1 if there is no such column. */
type Columns = { id: number; name: number; tag: number; count: number };

const findColumns = (fields: CsvFields, separator: string): Columns => {
  const names = fields.map((field = '') => toColumnName(field));
  const text = fields.join(separator);
  const row = `The header row is ${quoteValue(text)}`;
  for (const name of ['id', 'name', 'tag']) {
    if (names.indexOf(name) !== names.lastIndexOf(name))
      throw headerWrong(`${row}, which names the column ${name} twice.`);
  }
  const missing = ['id', 'name'].filter((name) => !names.includes(name));
  // By the parameter, or by a line `sep=`.
  const reason = delimiterOf(text) === separator ? '' : ' with the given delimiter';
  const advice = names.some((name) => /^name["'\d]/.test(name)) ? ` ${LINE_ENDS_LOST}` : '';
  if (missing.length > 0) throw headerWrong(`${row}, which lacks ${missing.join(' and ')}${reason}.${advice}`);
  const count = names.findLastIndex((name) => name !== '') + 1;
  return { id: names.indexOf('id'), name: names.indexOf('name'), tag: names.indexOf('tag'), count };
};

const headerWrong = (what: string) =>
  new StoreError(
    'fieldWrong',
    `${what} It must be like id,name,tag, in any order, separated by commas, semicolons or tabs.`,
  );

/** Excel writes 16 rows without their last columns if these are empty in all of them (https://support.microsoft.com/kb/77295). */
const FIELDS_LEFT_OUT =
  'If a spreadsheet left out empty ones at the end, move a column that is never empty, such as name, to the end.';

const isEmpty = (fields: CsvFields): boolean => fields.every((field) => !field);

const toCsvRow = ({ line, fields }: CsvRecord, columns: Columns): ImportRow =>
  toRow(line, csvPlantSchema, 'The row', () => {
    // Spreadsheets also write fields of columns that were emptied.
    const { length } = fields;
    if (length < columns.count || (length > columns.count && !isEmpty(fields.slice(columns.count)))) {
      const message = `The row has ${length} field${length === 1 ? '' : 's'}, but the header row has ${columns.count}.`;
      throw new StoreError('fieldWrong', length < columns.count ? `${message} ${FIELDS_LEFT_OUT}` : message);
    }
    return { id: fields[columns.id], name: fields[columns.name] ?? '', tag: fields[columns.tag] };
  });

/** The possible delimiters; the first is the default. */
const DELIMITERS = [',', ';', '\t'];
/** The maximum number of characters to wait for the end of the header row. */
const MAX_HEAD = 16_384;
/** Rows without a value or a quote. (A CR at the end of the text may be half of a CRLF.) */
const EMPTY_ROWS = /^(?:[,;\t ]*(?:\r?\n|\r(?!\n|$)))*/;
/** The text of a row, which may have line ends in quotes, and its own line end. */
const FIRST_ROW = /^((?:[^"\r\n]+|"[^"]*(?:"|$))*)(?:\r\n?|\n|$)/;

/** Where records begin. `text`: what has arrived from there on. */
type CsvStart = { delimiter: string; line: number; text: string };

/**
 * Creates a function that finds the header row and its delimiter.
 * @param given overrides the delimiter that is recognized; `tab` is a tab
 */
const createCsvHead = (given?: string) => {
  const chosen = given === 'tab' ? '\t' : given;
  let text = '';
  let line = 1;
  /**
   * @param isLast whether the piece ends the file
   * @returns undefined until the header row has arrived, or MAX_HEAD
   * @throws {StoreError} 1000 for UTF-16, 1003 for another delimiter in a line `sep=`
   */
  return (piece: string, isLast: boolean): CsvStart | undefined => {
    text += piece;
    // They are not kept, because a file can begin with any number of them. The end of the file ends a row, too.
    const [empty = ''] = EMPTY_ROWS.exec(isLast ? `${text}\n` : text) ?? [];
    line += countLineEnds(empty);
    text = text.slice(empty.length);
    const [row = '', content = ''] = FIRST_ROW.exec(text) ?? [];
    if (!isLast && text.length < MAX_HEAD && row.length === text.length) return undefined;
    if (content.includes('\0')) throw new StoreError('bodyNotJson', NUL_CHARACTERS);
    const named = delimiterIn(content);
    if (named === undefined) return { delimiter: chosen ?? delimiterOf(content), line, text };
    return { delimiter: chosen ?? named, line: line + 1, text: text.slice(row.length) };
  };
};

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
const toColumnName = (text: string): string => text.trim().toLowerCase();

/** The maximum number of fields in a record, because even an empty field takes memory. */
const MAX_FIELDS = 1000;

/** How many bytes to parse at once. The parser cannot be interrupted, and takes up to 7 ms for them if every row lacks fields. */
const PIECE = 512;

/** A field that is empty and not quoted is undefined. */
type CsvFields = (string | undefined)[];

/** `line`: the line on which the record begins, from 1. */
type CsvRecord = { line: number; fields: CsvFields };

type ParserOptions = { delimiter: string; line: number; maxRecordBytes: number };

/**
 * Creates a function that parses records of CSV (RFC 4180), which end with CR, LF or CRLF. Ignores empty lines.
 * @param options `line`: the first line of the text. `maxRecordBytes`: of the fields of a record together
 * @throws {StoreError} 1000, 1002. Both end the file, because the start of the next record is unknown
 */
const createCsvParser = ({ delimiter, line: firstLine, maxRecordBytes }: ParserOptions) => {
  const records: CsvRecord[] = [];
  // Counted here, because the parser counts a CRLF within quotes as two lines.
  let recordLines = 0;
  let quotedLineEnds = 0;
  // The parser's own limit counts the fields that are complete in characters.
  let recordBytes = 0;
  const line = () => firstLine + recordLines + parser.info.empty_lines;
  const parser: Parser = parse({
    delimiter,
    // CRLF first, so that it ends one record.
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    // The parser checks it before it adds a byte. 0 would mean no limit.
    max_record_size: Math.max(1, maxRecordBytes - 1),
    cast: (text, { quoting, index }) => {
      if (index >= MAX_FIELDS) throw tooManyFields(line());
      recordBytes = (index === 0 ? 0 : recordBytes) + Buffer.byteLength(text);
      if (recordBytes > maxRecordBytes) throw recordTooLong(line(), maxRecordBytes);
      if (quoting) quotedLineEnds += countLineEnds(text);
      return text === '' && !quoting ? undefined : text;
    },
    // Called during `write` and `end`. Nothing goes through the parser's output stream.
    on_record: (fields: CsvFields) => {
      records.push({ line: line(), fields });
      recordLines += 1 + quotedLineEnds;
      quotedLineEnds = 0;
      return undefined;
    },
  });
  // `parsed` throws it.
  parser.on('error', () => {});
  const parsed = function* (): Generator<CsvRecord> {
    yield* records.splice(0);
    if (parser.errored) throw toStoreError(parser.errored, line(), maxRecordBytes);
  };
  return function* (text: string, isLast: boolean): Generator<CsvRecord | undefined> {
    // As bytes, because a part of a text could begin within a character.
    const bytes = Buffer.from(text);
    for (let start = 0; start < bytes.length; start += PIECE) {
      parser.write(bytes.subarray(start, start + PIECE));
      yield* parsed();
      yield undefined;
    }
    if (!isLast) return;
    parser.end();
    yield* parsed();
  };
};

const tooManyFields = (line: number) =>
  new StoreError('bodyTooLarge', `The row at line ${line} has more than ${MAX_FIELDS} fields.`);

const recordTooLong = (line: number, maxRecordBytes: number, cause?: Error) => {
  const message = `The row at line ${line} must be at most ${maxRecordBytes} bytes. Check for an unclosed quote.`;
  return new StoreError('bodyTooLarge', message, { cause });
};

const toStoreError = (error: Error, line: number, maxRecordBytes: number): Error => {
  if (!(error instanceof CsvError)) return error;
  if (error.code === 'CSV_MAX_RECORD_SIZE') return recordTooLong(line, maxRecordBytes, error);
  const message = `The CSV has an invalid or unclosed quote in the row at line ${line}.`;
  return new StoreError('bodyNotJson', message, { cause: error });
};
