import { pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import { createTextDecoder } from '../imports/decode-text.ts';
import { importSummarySchema, NO_COUNTS } from '../imports/import.ts';
import { createElementReader } from '../imports/read-json.ts';
import { withEnd } from '../imports/read-rows.ts';
import { readFileBytes } from './bulk-file.ts';
import {
  type FileOptions,
  type Importer,
  type ImportFile,
  MAX_ARRAY_BYTES,
  type Report,
  summarizeInterruption,
} from './import-files.ts';
import { RemoteError, type RemoteService, readResult, send } from './remote-service.ts';

/** Imports files through a service. What of a file it cannot read is for the service to say, except for JSON arrays. */
export const createRemoteImporter =
  (service: RemoteService, options: FileOptions): Importer =>
  async (file, report) => {
    const { signal } = report;
    const { encoding, onConflict, dryRun, atomic, maxErrors, delimiter } = options;
    try {
      const response = await send(service, {
        method: 'POST',
        path: '/plants/import',
        query: { onConflict, dryRun, atomic, maxErrors, delimiter },
        headers: headersOf(file, encoding),
        signal,
        body: (bodySignal) => readBody(file, encoding, { ...report, signal: bodySignal }),
      });
      const summary = await readResult(response, service, importSummarySchema);
      return { ...summary, isAccepted: response.statusCode === 200 };
    } catch (error) {
      const { message } = error as Error;
      const outcome = error instanceof RemoteError ? error.outcome : 'not sent';
      if (outcome === 'refused') return { ...NO_COUNTS, errors: [], message, isAccepted: false };
      const interruption = { isUnknown: outcome === 'unknown' && !dryRun, cause: error, onConflict };
      return summarizeInterruption(signal.aborted ? 'Interrupted.' : message, interruption);
    }
  };

const headersOf = ({ format, isCompressed }: ImportFile, encoding: string): Record<string, string> => {
  const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson';
  const charset = format === 'json' ? 'utf-8' : encoding;
  return { 'Content-Type': `${type}; charset=${charset}`, ...(isCompressed && { 'Content-Encoding': 'gzip' }) };
};

/** A compressed file is compressed again, after its rows were counted. */
async function* readBody(file: ImportFile, encoding: string, { signal, progress }: Report) {
  const bytes = readFileBytes(file.name, file, { signal, progress });
  const counted = async function* () {
    for await (const piece of file.format === 'json' ? arrayLines(bytes, encoding) : bytes) {
      progress.rows += piece.toString('latin1').split('\n').length - 1;
      yield piece;
    }
  };
  yield* file.isCompressed ? pipeline(counted, createGzip({ level: 1 }), () => {}) : counted();
  progress.storingSince = performance.now();
}

/** A service takes no array of more than its BODY_LIMIT. An element and its line have the same number. */
async function* arrayLines(bytes: AsyncIterable<Buffer>, encoding: string) {
  const decode = await createTextDecoder(encoding);
  const elementsIn = createElementReader(MAX_ARRAY_BYTES);
  for await (const piece of withEnd(bytes))
    for (const { text } of elementsIn(decode(piece), piece === undefined))
      yield Buffer.from(`${text.trim().replace(/[\r\n]/g, ' ')}\n`);
}
