import { pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import { stringifyExact } from '../bodies/exact-json.ts';
import { importSummarySchema, NO_COUNTS } from '../imports/import.ts';
import { describeInterruption } from '../imports/import-errors.ts';
import { readArray } from '../imports/read-json.ts';
import { readFileBytes } from './bulk-file.ts';
import {
  type FileOptions,
  type FileOutcome,
  type Importer,
  type ImportFile,
  MAX_ARRAY_BYTES,
  toOutcome,
} from './import-files.ts';
import { RemoteError, type RemoteService, readResult, send } from './remote-service.ts';

/** Imports files through a service. What of a file it cannot read is for the service to say, except for JSON arrays. */
export const createRemoteImporter =
  (service: RemoteService, options: FileOptions): Importer =>
  async (file, { signal, onBytes, onProgress }) => {
    const { encoding, onConflict, dryRun, atomic, maxErrors, delimiter } = options;
    const query = new URLSearchParams(Object.entries({ onConflict, dryRun, atomic, maxErrors }).map(toTexts));
    if (delimiter) query.set('delimiter', delimiter);
    let rows = 0;
    const onRows = (count: number) => {
      rows += count;
      onProgress({ step: 'reading', rows });
    };
    try {
      const response = await send(service, {
        method: 'POST',
        path: `/plants/import?${query}`,
        headers: headersOf(file, encoding),
        signal,
        body: (bodySignal) => readBody(file, encoding, { signal: bodySignal, onBytes, onRows }),
        onSent: () => onProgress({ step: 'storing', rows }),
      });
      const summary = await readResult(response, service, importSummarySchema);
      return toOutcome({ ...summary, isAccepted: response.statusCode === 200 }, options);
    } catch (error) {
      return toInterruptedOutcome(error, { ...options, isInterrupted: signal.aborted });
    }
  };

const toTexts = ([name, value]: [string, unknown]) => [name, String(value)];

const toInterruptedOutcome = (
  error: unknown,
  { isInterrupted, dryRun, onConflict }: Pick<FileOptions, 'dryRun' | 'onConflict'> & { isInterrupted: boolean },
): FileOutcome => {
  const { message } = error as Error;
  const stoppedWith = (text: string) => ({ ...NO_COUNTS, errors: [], stopped: { message: text } });
  if (error instanceof RemoteError && error.outcome === 'refused') return stoppedWith(message);
  const isUnknown = error instanceof RemoteError && error.outcome === 'unknown' && !dryRun;
  const advice = describeInterruption({ isUnknown, cause: error, onConflict }, '--on-conflict skip');
  return stoppedWith(`${isInterrupted ? 'Interrupted' : message.replace(/\.$/, '')}. ${advice}`);
};

const headersOf = ({ format, isCompressed }: ImportFile, encoding: string): Record<string, string> => {
  const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson';
  const charset = format === 'json' ? 'utf-8' : encoding;
  return { 'Content-Type': `${type}; charset=${charset}`, ...(isCompressed && { 'Content-Encoding': 'gzip' }) };
};

type Reading = { signal: AbortSignal; onBytes: (count: number) => void; onRows: (count: number) => void };

/** A compressed file is compressed again, after its rows were counted. */
async function* readBody(file: ImportFile, encoding: string, { signal, onBytes, onRows }: Reading) {
  const bytes = readFileBytes(file.name, file, { signal, onBytes });
  const lines = countRows(file.format === 'json' ? arrayLines(bytes, encoding) : bytes, onRows);
  yield* file.isCompressed ? (pipeline(lines, createGzip({ level: 1 }), () => {}) as AsyncIterable<Buffer>) : lines;
}

/** A service takes no array of more than its BODY_LIMIT. An element and its line have the same number. */
async function* arrayLines(bytes: AsyncIterable<Buffer>, encoding: string) {
  for (const element of await readArray(bytes, { encoding, maxBytes: MAX_ARRAY_BYTES })) {
    const plant = element as { id?: unknown } | null;
    // It is no int64, but could be rounded to one. A string fails. (A fraction fails as it is.)
    if (typeof plant?.id === 'number' && !(plant.id % 1)) plant.id = String(plant.id);
    yield Buffer.from(`${stringifyExact(element)}\n`);
  }
}

async function* countRows(pieces: AsyncIterable<Buffer>, onRows: (count: number) => void) {
  for await (const bytes of pieces) {
    onRows(countLineFeeds(bytes));
    yield bytes;
  }
}

const LINE_FEED = 10;

const countLineFeeds = (bytes: Buffer): number => {
  let count = 0;
  for (let index = bytes.indexOf(LINE_FEED); index !== -1; index = bytes.indexOf(LINE_FEED, index + 1)) count += 1;
  return count;
};
