import { createGunzip } from 'node:zlib';
import { stringifyExact } from '../bodies/exact-json.ts';
import { decodeText } from '../imports/decode-text.ts';
import { importSummarySchema, NO_COUNTS } from '../imports/import.ts';
import { describeInterruption, isOfFile } from '../imports/import-errors.ts';
import { readArray } from '../imports/read-json.ts';
import { readFileBytes } from './bulk-file.ts';
import { type FileOptions, type FileOutcome, type Importer, type ImportFile, toOutcome } from './import-files.ts';
import { MAX_ARRAY_BYTES } from './import-to-database.ts';
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
        ...{ method: 'POST', path: `/plants/import?${query}`, headers: headersOf(file, encoding), signal },
        body: (wanted) => readBody(file, encoding, { signal: wanted, onBytes, onRows }),
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
  if (error instanceof RemoteError && error.mayBeDone === undefined) return stoppedWith(message);
  const isUnknown = error instanceof RemoteError && error.mayBeDone === true && !dryRun;
  const interruption = { isUnknown, isOfFile: isOfFile(error), onConflict };
  const advice = describeInterruption(interruption, (mode) => `--on-conflict ${mode}`);
  return stoppedWith(`${isInterrupted ? 'Interrupted' : message.replace(/\.$/, '')}. ${advice}`);
};

const headersOf = ({ format, isCompressed }: ImportFile, encoding: string): Record<string, string> => {
  if (format === 'json') return { 'Content-Type': 'application/x-ndjson' };
  const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson';
  return { 'Content-Type': `${type}; charset=${encoding}`, ...(isCompressed && { 'Content-Encoding': 'gzip' }) };
};

type Reading = { signal: AbortSignal; onBytes: (count: number) => void; onRows: (count: number) => void };

/** Sends a compressed file as it is, and decompresses it to count its rows only. */
async function* readBody(file: ImportFile, encoding: string, { signal, onBytes, onRows }: Reading) {
  const { name, format, isCompressed } = file;
  if (format === 'json') return yield* arrayLines(readFileBytes(name, file, { signal, onBytes }), encoding, onRows);
  const countRows = (bytes: Buffer) => onRows(countLineFeeds(bytes));
  const counted = createGunzip()
    .on('data', countRows)
    .on('error', () => {});
  for await (const bytes of readFileBytes(name, { isCompressed: false }, { signal, onBytes })) {
    if (!isCompressed) countRows(bytes);
    else await new Promise((resolve) => counted.write(bytes, resolve));
    yield bytes;
  }
}

/** A service takes no array of more than its BODY_LIMIT. An element and its line have the same number. */
async function* arrayLines(bytes: AsyncIterable<Buffer>, encoding: string, onRows: (count: number) => void) {
  for (const element of await readArray(decodeText(bytes, encoding), MAX_ARRAY_BYTES)) {
    yield Buffer.from(`${stringifyExact(element)}\n`);
    onRows(1);
  }
}

const LINE_FEED = 10;

const countLineFeeds = (bytes: Buffer): number => {
  let count = 0;
  for (let index = bytes.indexOf(LINE_FEED); index !== -1; index = bytes.indexOf(LINE_FEED, index + 1)) count += 1;
  return count;
};
