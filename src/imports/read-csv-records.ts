import { CsvError, parse } from 'csv-parse';
import { decodeText } from '../bodies/read-json-body.ts';
import { StoreError } from '../errors.ts';
import { countLineEnds } from './count-lines.ts';
import { recognizeDialect } from './csv-dialect.ts';
import { createCsvHead } from './csv-head.ts';
import { withoutByteOrderMark } from './split-lines.ts';

/** The maximum number of fields in a record, because even an empty field takes memory. */
const MAX_FIELDS = 1000;

/** The size in bytes of the pieces to parse. The parser cannot be interrupted, and takes up to 7 ms per piece if every row lacks fields. */
const PIECE = 512;

export type CsvField = {
  /** `subject`: the name of the row in messages. @throws {StoreError} 1000 for invalid UTF-8 */
  read: (subject: string) => string;
  /** Whether the field is empty and not quoted. */
  isAbsent: boolean;
};

/** `line`: the line on which the record begins, from 1. */
export type CsvRecord = { line: number; fields: CsvField[] };

type ReadOptions = {
  maxRecordBytes: number;
  delimiter?: string | undefined;
  /** Called at the end with the number of lines; a line break at the end begins another one. */
  onEnd?: (lines: number) => void;
};

/**
 * Reads records of CSV (RFC 4180), which end with CR, LF or CRLF. Ignores empty lines and a leading byte order mark.
 * Recognizes the delimiter, unless it is given.
 * @returns the records that end in each chunk, and undefined now and then, since a chunk can take long without a record
 * @throws {StoreError} 1000 for an invalid quote, 1002 for a record that is too long. Both end the file, because the start of
 * the next record is unknown. 1003 for a line `sep=` with another delimiter
 */
export async function* readCsvRecords(
  chunks: AsyncIterable<Buffer>,
  { maxRecordBytes, delimiter: given, onEnd }: ReadOptions,
): AsyncGenerator<Iterable<CsvRecord | undefined>> {
  const head = createCsvHead();
  let parser: ReturnType<typeof createParser> | undefined;
  const parseHead = () => {
    const { bytes, line } = head.take();
    const { delimiter, start, lines } = recognizeDialect(bytes.toString(), given);
    parser = createParser({ delimiter, line: line + lines, maxRecordBytes });
    return parser.recordsIn(bytes.subarray(start));
  };
  for await (const chunk of withoutByteOrderMark(chunks)) {
    if (parser !== undefined) yield parser.recordsIn(chunk);
    else yield head.add(chunk) ? parseHead() : [];
  }
  if (parser === undefined) yield parseHead();
  if (parser === undefined) return;
  yield parser.end();
  onEnd?.(parser.lines());
}

type ParserOptions = { delimiter: string; line: number; maxRecordBytes: number };

const createParser = ({ delimiter, line: firstLine, maxRecordBytes }: ParserOptions) => {
  const records: CsvRecord[] = [];
  // Counted here, because the parser counts a CRLF within quotes as two lines.
  let line = firstLine;
  let emptyLines = 0;
  // Of the fields so far. The parser's own limit counts only a field that `cast` leaves a string.
  let recordBytes = 0;
  const parser = parse({
    // Keeps the bytes as they are; with UTF-8, the parser would silently replace invalid bytes.
    encoding: 'latin1',
    delimiter,
    // CRLF first, so that it ends one record.
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxRecordBytes,
    cast: (text, { quoting, index, empty_lines: emptyLinesNow }) => {
      const recordLine = line + emptyLinesNow - emptyLines;
      if (index >= MAX_FIELDS) throw tooManyFields(recordLine);
      recordBytes = (index === 0 ? 0 : recordBytes) + text.length;
      if (recordBytes > maxRecordBytes) throw recordTooLong(recordLine, maxRecordBytes);
      return toField(text, quoting);
    },
    // Called during `write` and `end`. Nothing goes through the parser's output stream.
    on_record: (record: unknown, { empty_lines: emptyLinesNow }) => {
      const fields = record as LatinField[];
      line += emptyLinesNow - emptyLines;
      emptyLines = emptyLinesNow;
      records.push({ line, fields });
      line += fields.reduce((lines, { lineEnds }) => lines + lineEnds, 1);
      return undefined;
    },
  });
  // `parsed` throws it.
  parser.on('error', () => {});
  const parsed = function* (): Generator<CsvRecord> {
    yield* records.splice(0);
    const { errored, info } = parser;
    if (errored) throw toApiError(errored, line + info.empty_lines - emptyLines, maxRecordBytes);
  };
  return {
    recordsIn: function* (chunk: Buffer): Generator<CsvRecord | undefined> {
      for (let start = 0; start < chunk.length; start += PIECE) {
        parser.write(chunk.subarray(start, start + PIECE));
        yield* parsed();
        yield undefined;
      }
    },
    lines: (): number => firstLine + parser.info.lines - 1,
    end: (): Generator<CsvRecord> => {
      parser.end();
      return parsed();
    },
  };
};

/** `lineEnds`: those within its quotes. */
type LatinField = CsvField & { lineEnds: number };

/** Keeps a byte order mark at the beginning of a field, which is part of the value. */
const utf8WithMarks = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const OTHER_ENCODING = ' If the file is in windows-1252 or utf-16le, state this encoding.';

const toField = (latin: string, isQuoted: boolean): LatinField => ({
  read: (subject) =>
    /[\x80-\xff]/.test(latin)
      ? decodeText(Buffer.from(latin, 'latin1'), subject, utf8WithMarks, OTHER_ENCODING)
      : latin,
  isAbsent: latin === '' && !isQuoted,
  lineEnds: isQuoted ? countLineEnds(latin) : 0,
});

const tooManyFields = (line: number) =>
  new StoreError('bodyTooLarge', `The row at line ${line} has more than ${MAX_FIELDS} fields.`);

const recordTooLong = (line: number, maxRecordBytes: number, cause?: unknown) =>
  new StoreError(
    'bodyTooLarge',
    `The row at line ${line} must be at most ${maxRecordBytes} bytes. Check for an unclosed quote.`,
    { cause },
  );

const toApiError = (error: unknown, line: number, maxRecordBytes: number): unknown => {
  if (!(error instanceof CsvError)) return error;
  if (error.code === 'CSV_MAX_RECORD_SIZE') return recordTooLong(line, maxRecordBytes, error);
  const message = `The CSV has an invalid or unclosed quote in the row at line ${line}.`;
  return new StoreError('bodyNotJson', message, { cause: error });
};
