import { z } from 'zod';
import { createByteBuffer } from '../bodies/byte-buffer.ts';
import { decodeText, parseJson, parseJsonText } from '../bodies/read-json-body.ts';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { describeFields } from '../http/parse-request.ts';
import { MAX_INT64, MIN_INT64, newPlantSchema, plantSchema } from '../plants/plant.ts';
import { quoteValue } from '../quote-value.ts';
import { toColumnName } from './csv-dialect.ts';
import { formatCount, type ImportRow, type RowError } from './import.ts';
import { type CsvField, type CsvRecord, readCsvRecords } from './read-csv-records.ts';
import { splitJsonArray } from './split-json-array.ts';
import { type Line, splitLines } from './split-lines.ts';
import { inTurns } from './take-turns.ts';

type ReadOptions = {
  /** The maximum size of a line in bytes, without its line ending. Longer lines are not kept in memory. */
  maxLineBytes: number;
};

/** Reads plants from NDJSON: one NewPlant per line. Ignores blank lines. A line over the limit is a failed row. */
export async function* readNdjson(
  chunks: AsyncIterable<Buffer>,
  { maxLineBytes }: ReadOptions,
): AsyncGenerator<ImportRow[]> {
  const rowsOf = function* (lines: Iterable<Line>) {
    for (const { line, bytes } of lines) {
      if (bytes === undefined) yield toRowError(line, lineTooLong(maxLineBytes));
      else if (!isBlank(bytes)) yield toRow(line, newPlantSchema, 'The line', () => parseJson(bytes, 'The line'));
      // Looking at the clock takes as long as skipping a line, and a megabyte of gzip can become a billion of them.
      else if (line % CHECK_INTERVAL === 0) yield undefined;
    }
  };
  yield* inTurns(splitLines(chunks, { maxLineBytes }), rowsOf);
}

/** How many blank lines to skip before looking at the clock. */
const CHECK_INTERVAL = 1000;
const [TAB, SPACE] = [9, 32];

const isBlank = (bytes: Buffer): boolean => {
  for (const byte of bytes) if (byte !== SPACE && byte !== TAB) return false;
  return true;
};

const lineTooLong = (limit: number) =>
  new ApiError(commonErrors.bodyTooLarge, `The line must be at most ${limit} bytes.`);

/** A number that a spreadsheet has shortened, such as 1.23457E+18 or 1,23457E+18. */
const ROUNDED = /^[+-]?\d[.,]?\d*e[+-]?\d+$/i;
/** A number with separators between its digits, such as 1,000 or 1.000.000. */
const FORMATTED = /^[+-]?\d{1,3}([.,'\u2019 \u00a0\u202f]\d{3})+$/;

/** Leading zeros are allowed, but BigInt takes quadratic time on a million of them. */
const MAX_ID_LENGTH = 40;

const describeCsvId = ({ input }: { input?: unknown }): string => {
  if (input === '') return 'is required';
  const wrong = `must be decimal digits with an optional sign, from ${MIN_INT64} to ${MAX_INT64}`;
  const text = typeof input === 'string' && input.length <= MAX_ID_LENGTH ? input : '';
  if (ROUNDED.test(text)) return `was rounded by a spreadsheet (format the column as text) and ${wrong}`;
  return FORMATTED.test(text) ? `was formatted by a spreadsheet (format the column as text) and ${wrong}` : wrong;
};

/** A NewPlant in CSV. */
const csvPlantSchema = plantSchema.extend({
  id: z
    .string({ error: describeCsvId })
    .max(MAX_ID_LENGTH, { error: describeCsvId, abort: true })
    .regex(/^[+-]?\d+$/, { error: describeCsvId, abort: true })
    .transform((text) => BigInt(text.replace('+', '')))
    .pipe(z.int64({ error: describeCsvId })),
});

/**
 * Reads plants from CSV (RFC 4180) with a header row that names at least the columns `id` and `name`. An empty `tag` field
 * without quotes means no tag.
 * @throws {ApiError} 1000 for an invalid quote, 1002 for a row that is too long, 1003 for an invalid header row
 */
export async function* readCsv(
  chunks: AsyncIterable<Buffer>,
  { maxLineBytes, delimiter }: ReadOptions & { delimiter?: string | undefined },
): AsyncGenerator<ImportRow[]> {
  let columns: Columns | undefined;
  const rowsOf = function* (records: Iterable<CsvRecord>) {
    for (const { line, fields } of records) {
      if (columns === undefined) columns = findColumns(fields);
      else yield toCsvRow(line, fields, columns);
    }
  };
  yield* inTurns(readCsvRecords(chunks, { maxRecordBytes: maxLineBytes, delimiter }), rowsOf);
  if (columns === undefined) throw headerWrong('The CSV has no header row.');
}

/** The indexes of the columns, and their number. `tag` is -1 if there is no such column. */
type Columns = { id: number; name: number; tag: number; count: number };

const findColumns = (fields: CsvField[]): Columns => {
  const texts = fields.map(({ read }) => read('The header row'));
  const names = texts.map(toColumnName);
  const row = `The header row is ${quoteValue(texts.join(','))}`;
  for (const name of ['id', 'name', 'tag']) {
    if (names.indexOf(name) !== names.lastIndexOf(name))
      throw headerWrong(`${row}, which names the column ${name} twice.`);
  }
  const missing = ['id', 'name'].filter((name) => !names.includes(name));
  if (missing.length > 0) throw headerWrong(`${row}, which lacks ${missing.join(' and ')}.`);
  return { id: names.indexOf('id'), name: names.indexOf('name'), tag: names.indexOf('tag'), count: names.length };
};

const headerWrong = (what: string) =>
  new ApiError(
    commonErrors.fieldWrong,
    `${what} It must be like id,name,tag, in any order, separated by commas, semicolons or tabs.`,
  );

const toCsvRow = (line: number, fields: CsvField[], columns: Columns): ImportRow =>
  toRow(line, csvPlantSchema, 'The row', () => {
    if (fields.length !== columns.count) {
      const message = `The row has ${fields.length} fields, but the header row has ${columns.count}.`;
      throw new ApiError(commonErrors.fieldWrong, message);
    }
    const read = (index: number) => fields[index]?.read('The row');
    const tag = fields[columns.tag];
    return { id: read(columns.id), name: read(columns.name), tag: tag?.isAbsent ? undefined : tag?.read('The row') };
  });

/** Reads the plants of a file that is a JSON array; see `readJsonArray`. @throws {ApiError} 1000, 1002 */
export async function* readJson(
  chunks: AsyncIterable<Buffer>,
  { maxBytes }: { maxBytes: number },
): AsyncGenerator<ImportRow[]> {
  const file = createByteBuffer(maxBytes);
  for await (const chunk of chunks) if (!file.add(chunk)) throw arrayTooLarge(maxBytes);
  yield* readJsonArray(decodeText(file.take() as Buffer, 'The file'));
}

const arrayTooLarge = (limit: number) =>
  new ApiError(
    commonErrors.bodyTooLarge,
    `A JSON array must be at most ${formatCount(limit)} bytes. NDJSON may have any size: jq -c '.[]' converts it.`,
  );

/**
 * Reads plants from a JSON array of NewPlants. The line of a row is the number of its element, from 1. Parses one element at
 * a time, because the objects can take 30 times the memory of their text.
 * @throws {ApiError} 1000 before the first row, if the text is not a JSON array
 */
export async function* readJsonArray(text: string): AsyncGenerator<ImportRow[]> {
  // Checks the whole text first, so that no row of invalid JSON is stored.
  for await (const _ of inTurns([text], checkElements));
  yield* inTurns([text], rowsOfElements);
}

function* checkElements(text: string): Generator<undefined> {
  for (const found of splitJsonArray(text)) {
    try {
      if (found) parseJsonText(found.element, `Element ${found.line}`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== commonErrors.bodyTooLarge.code) throw error;
    }
    yield undefined;
  }
}

function* rowsOfElements(text: string): Generator<ImportRow | undefined> {
  for (const found of splitJsonArray(text)) {
    yield found && toRow(found.line, newPlantSchema, 'The element', () => parseJsonText(found.element, 'The element'));
  }
}

/** A NewPlant. The format determines how its id is written. */
type PlantSchema = z.ZodObject<Omit<typeof newPlantSchema.shape, 'id'> & { id: z.ZodType<bigint> }>;

/**
 * Validates one row.
 * @param subject the name of the row in messages
 * @param parse returns the value to validate; an ApiError that it throws becomes the row's error
 */
const toRow = (line: number, schema: PlantSchema, subject: string, parse: () => unknown): ImportRow => {
  let value: unknown;
  try {
    value = parse();
  } catch (error) {
    return toRowError(line, error);
  }
  const result = schema.safeParse(value);
  if (result.success) return { line, plant: result.data };
  const id = schema.shape.id.safeParse((value as { id?: unknown } | null)?.id);
  return { line, ...(id.success && { id: id.data }), ...describe(describeFields(result.error, subject, value)) };
};

/** @throws any error that is not an ApiError */
const toRowError = (line: number, error: unknown): RowError => {
  if (error instanceof ApiError) return { line, ...describe(error) };
  throw error;
};

const describe = ({ code, message }: ApiError) => ({ error: code, message });
