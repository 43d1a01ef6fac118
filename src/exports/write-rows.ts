import { stringify } from 'csv-stringify/sync';
import type { PlantPage } from '../plants/plant-pages.ts';
import { representLines } from '../plants/plant-representation.ts';

/** The size in bytes of the pieces to write. The stall timeout restarts with each piece that the client reads. */
const PIECE = 16_384;

export const exportFormats = ['ndjson', 'csv'] as const;

export type ExportFormat = (typeof exportFormats)[number];

/**
 * Quotes empty tags, to distinguish them from missing ones as PostgreSQL's COPY does. Also quotes values with leading or
 * trailing whitespace, which some readers would strip.
 */
const CSV_OPTIONS = { quoted_match: [/^$|^\s|\s$/] };

const toCsv = ({ ids, names, tags }: PlantPage): string =>
  stringify(
    ids.map((id, index) => [id, names[index], tags[index]]),
    CSV_OPTIONS,
  );

const writers: Record<ExportFormat, { head: string; write: (page: PlantPage) => string }> = {
  ndjson: { head: '', write: representLines },
  csv: { head: 'id,name,tag\n', write: toCsv },
};

/** The Content-Type of each format (for CSV: RFC 4180 §3). */
export const contentTypes: Record<ExportFormat, string> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
};

/**
 * Formats plants as UTF-8 lines that end with LF.
 * @param onRows called with the number of rows of a page after the consumer has taken all of it
 */
export async function* writeRows(
  format: ExportFormat,
  pages: AsyncIterable<PlantPage>,
  onRows: (count: number) => void = () => {},
): AsyncGenerator<Buffer, void, undefined> {
  const { head, write } = writers[format];
  let before = head;
  for await (const page of pages) {
    const bytes = Buffer.from(before + write(page));
    before = '';
    for (let start = 0; start < bytes.length; start += PIECE) yield bytes.subarray(start, start + PIECE);
    onRows(page.ids.length);
  }
}
