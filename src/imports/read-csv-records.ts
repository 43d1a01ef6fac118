import { CsvError, parse } from 'csv-parse';
import { decodeText } from '../bodies/read-json-body.ts';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { recognizeDialect } from './csv-dialect.ts';
import { withoutByteOrderMark } from './split-lines.ts';

/** The maximum number of fields in a record, because even an empty field takes memory. */
const MAX_FIELDS = 1000;

/** The size in bytes of the pieces to parse. The parser cannot be interrupted, and takes up to 7 ms per piece if every row lacks fields. */
const PIECE = 512;

export type CsvField = {
  /** `subject`: the name of the row in messages. @throws {ApiError} 1000 for invalid UTF-8 */
  read: (subject: string) => string;
  /** Whether the field is empty and not quoted. */
  isAbsent: boolean;
};

/** `line`: the line on which the record begins, from 1. */
export type CsvRecord = { line: number; fields: CsvField[] };

/**
 * Reads records of CSV (RFC 4180), separated by LF or CRLF. Ignores empty lines and a leading byte order mark. Recognizes
 * the delimiter, unless it is given.
 * @throws {ApiError} 1000 for an invalid quote, 1002 for a record that is too long. Both end the file, because the start of
 * the next record is unknown. 1003 for a line `sep=` with another delimiter
 */
export async function* readCsvRecords(
  chunks: AsyncIterable<Buffer>,
  { maxRecordBytes, delimiter: given }: { maxRecordBytes: number; delimiter?: string | undefined },
): AsyncGenerator<Iterable<CsvRecord>> {
  let head = Buffer.alloc(0);
  let parser: ReturnType<typeof createParser> | undefined;
  const parseHead = (isWhole: boolean): Iterable<CsvRecord> => {
    const dialect = recognizeDialect(head.toString(), isWhole, given);
    if (dialect === undefined) return [];
    parser = createParser({ ...dialect, maxRecordBytes });
    return parser.recordsIn(head.subarray(dialect.start));
  };
  for await (const chunk of withoutByteOrderMark(chunks)) {
    if (parser !== undefined) yield parser.recordsIn(chunk);
    else {
      head = Buffer.concat([head, chunk]);
      yield parseHead(false);
    }
  }
  if (parser === undefined) yield parseHead(true);
  if (parser !== undefined) yield parser.end();
}

type ParserOptions = { delimiter: string; line: number; maxRecordBytes: number };

const createParser = ({ delimiter, line: firstLine, maxRecordBytes }: ParserOptions) => {
  const records: CsvRecord[] = [];
  // Counted here, because the parser counts a CRLF within quotes as two lines.
  let line = firstLine;
  let emptyLines = 0;
  const parser = parse({
    // Keeps the bytes as they are; with UTF-8, the parser would silently replace invalid bytes.
    encoding: 'latin1',
    delimiter,
    record_delimiter: ['\n', '\r\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxRecordBytes,
    cast: (text, { quoting, index }) => {
      if (index >= MAX_FIELDS) throw tooManyFields(line);
      return toField(text, quoting);
    },
    // Called during `write` and `end`. Nothing goes through the parser's output stream.
    on_record: (record: unknown, { empty_lines: emptyLinesNow }) => {
      const fields = record as LatinField[];
      line += emptyLinesNow - emptyLines;
      emptyLines = emptyLinesNow;
      records.push({ line, fields });
      line += fields.reduce((lines, { lineFeeds }) => lines + lineFeeds, 1);
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
    recordsIn: function* (chunk: Buffer): Generator<CsvRecord> {
      for (let start = 0; start < chunk.length; start += PIECE) {
        parser.write(chunk.subarray(start, start + PIECE));
        yield* parsed();
      }
    },
    end: (): Generator<CsvRecord> => {
      parser.end();
      return parsed();
    },
  };
};

type LatinField = CsvField & { lineFeeds: number };

/** Keeps a byte order mark at the beginning of a field, which is part of the value. */
const utf8WithMarks = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const OTHER_ENCODING = ' If the file is in windows-1252 or utf-16le, state this encoding.';

const toField = (latin: string, isQuoted: boolean): LatinField => ({
  read: (subject) =>
    /[\x80-\xff]/.test(latin)
      ? decodeText(Buffer.from(latin, 'latin1'), subject, utf8WithMarks, OTHER_ENCODING)
      : latin,
  isAbsent: latin === '' && !isQuoted,
  lineFeeds: latin.includes('\n') ? latin.split('\n').length - 1 : 0,
});

const tooManyFields = (line: number) =>
  new ApiError(commonErrors.bodyTooLarge, `The row at line ${line} has more than ${MAX_FIELDS} fields.`);

const toApiError = (error: unknown, line: number, maxRecordBytes: number): unknown => {
  if (!(error instanceof CsvError)) return error;
  if (error.code === 'CSV_MAX_RECORD_SIZE') {
    const message = `The row at line ${line} must be at most ${maxRecordBytes} bytes. Check for an unclosed quote.`;
    return new ApiError(commonErrors.bodyTooLarge, message, { cause: error });
  }
  const message = `The CSV has an invalid or unclosed quote in the row at line ${line}.`;
  return new ApiError(commonErrors.bodyNotJson, message, { cause: error });
};
