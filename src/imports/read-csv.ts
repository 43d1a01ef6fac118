import { z } from 'zod';
import { StoreError } from '../errors.ts';
import { MAX_INT64, MIN_INT64, plantSchema } from '../plants/plant.ts';
import { quoteValue } from '../quote-value.ts';
import { createCsvHead, toColumnName } from './csv-head.ts';
import { type CsvFields, type CsvRecord, createCsvParser } from './csv-records.ts';
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
  /**
   * @returns the rows that end in the text, and undefined now and then, since it can take long without a row
   * @throws {StoreError} 1000 for an invalid quote, 1002 for a row that is too long, 1003 for an invalid header row
   */
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
  const row = `The header row is ${quoteValue(fields.join(separator))}`;
  for (const name of ['id', 'name', 'tag']) {
    if (names.indexOf(name) !== names.lastIndexOf(name))
      throw headerWrong(`${row}, which names the column ${name} twice.`);
  }
  const missing = ['id', 'name'].filter((name) => !names.includes(name));
  const advice = names.some((name) => /^name["'\d]/.test(name)) ? ` ${LINE_ENDS_LOST}` : '';
  if (missing.length > 0) throw headerWrong(`${row}, which lacks ${missing.join(' and ')}.${advice}`);
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
      const message = `The row has ${length} fields, but the header row has ${columns.count}.`;
      throw new StoreError('fieldWrong', length < columns.count ? `${message} ${FIELDS_LEFT_OUT}` : message);
    }
    return { id: fields[columns.id], name: fields[columns.name] ?? '', tag: fields[columns.tag] };
  });
