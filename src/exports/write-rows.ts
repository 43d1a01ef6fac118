import { representFields } from '../plants/plant-representation.ts';

export const exportFormats = ['ndjson', 'csv'] as const;

export type ExportFormat = (typeof exportFormats)[number];

/** The id in decimal digits, the name and the tag. */
export type PlantRow = [id: string, name: string, tag: string | null];

/**
 * Includes empty tags, to distinguish them from missing ones as PostgreSQL's COPY does, and values with leading or trailing
 * whitespace, which some readers would strip.
 */
const NEEDS_QUOTES = /[",\r\n]|^$|^\s|\s$/;

const toField = (value: string | null): string => {
  if (value === null) return '';
  return NEEDS_QUOTES.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
};

/** Each format: its Content-Type (for CSV: RFC 4180 §3), what precedes the rows, and a row as a line that ends with LF. */
export const rowWriters: Record<ExportFormat, { type: string; head: string; write: (row: PlantRow) => string }> = {
  ndjson: {
    // Without the charset, Python's requests guesses the encoding.
    type: 'application/x-ndjson; charset=utf-8',
    head: '',
    write: ([id, name, tag]) => `${representFields(id, name, tag)}\n`,
  },
  csv: {
    type: 'text/csv; charset=utf-8; header=present',
    head: 'id,name,tag\n',
    write: ([id, name, tag]) => `${id},${toField(name)},${toField(tag)}\n`,
  },
};
