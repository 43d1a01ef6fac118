import { CsvError, type Parser, parse } from 'csv-parse';
import { StoreError } from '../errors.ts';
import { countLineEnds } from './decode-text.ts';

/** The maximum number of fields in a record, because even an empty field takes memory. */
const MAX_FIELDS = 1000;

/** How many bytes to parse at once. The parser cannot be interrupted, and takes up to 7 ms for them if every row lacks fields. */
const PIECE = 512;

/** A field that is empty and not quoted is undefined. */
export type CsvFields = (string | undefined)[];

/** `line`: the line on which the record begins, from 1. */
export type CsvRecord = { line: number; fields: CsvFields };

type ParserOptions = { delimiter: string; line: number; maxRecordBytes: number };

/**
 * Creates a function that parses records of CSV (RFC 4180), which end with CR, LF or CRLF. Ignores empty lines.
 * @param options `line`: the first line of the text. `maxRecordBytes`: of the fields of a record together
 * @throws {StoreError} 1000 for an invalid quote, 1002 for a record that is too long. Both end the file, because the start of
 * the next record is unknown
 */
export const createCsvParser = ({ delimiter, line: firstLine, maxRecordBytes }: ParserOptions) => {
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
  /** @returns the records that end in the text, and undefined now and then, since it can take long without a record */
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
