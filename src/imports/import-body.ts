import { aborted } from 'node:util';
import type { Request, Response } from 'express';
import { bodyDecompressor } from '../bodies/decompress.ts';
import { readContentType } from '../bodies/media-type.ts';
import { type BodyLimits, createBodyReader, decodeUtf8, sendContinue } from '../bodies/read-json-body.ts';
import { streamBody } from '../bodies/stream-body.ts';
import { StoreError } from '../errors.ts';
import { decodeText } from './decode-text.ts';
import type { ImportOptions, ImportRow, ReadRows } from './import.ts';
import { readCsv } from './read-csv.ts';
import { LARGE_ARRAYS, parseArray, readElements, readNdjson } from './read-json.ts';

/** The media types of an import. */
const IMPORT_TYPES = ['application/x-ndjson', 'text/csv', 'application/json'] as const;

/** Types that browsers and tools send for these: Windows takes CSV for a file of Excel, if that is installed. */
const ALIASES = new Map<string, (typeof IMPORT_TYPES)[number]>([
  ['application/vnd.ms-excel', 'text/csv'],
  ['application/csv', 'text/csv'],
  ['application/x-csv', 'text/csv'],
  ['text/comma-separated-values', 'text/csv'],
  ['text/tab-separated-values', 'text/csv'],
  ['text/x-comma-separated-values', 'text/csv'],
  ['text/x-csv', 'text/csv'],
  ['application/jsonl', 'application/x-ndjson'],
  ['application/jsonlines', 'application/x-ndjson'],
  ['application/x-jsonlines', 'application/x-ndjson'],
  ['application/ndjson', 'application/x-ndjson'],
]);

const withoutAlias = (header = ''): string => {
  const [type = '', ...parameters] = header.split(';');
  return [ALIASES.get(type.trim().toLowerCase()) ?? type, ...parameters].join(';');
};

type ImportBodyOptions = {
  /** `limit`: of a line, or of a whole JSON array. */
  bodies: BodyLimits;
  /** The maximum size of an import after decompression, in bytes. */
  maxBytes?: number | undefined;
  /** How long the client may send bytes without a complete row, in ms. */
  rowTimeout: number;
};

/**
 * Reads the rows of a request. Buffers a JSON array; streams the other formats.
 * @throws {StoreError} 1001. Iterating the rows throws the errors of `streamBody` and of the format's reader
 */
export const createImportBodyReader = (options: ImportBodyOptions) => {
  const { bodies, maxBytes = Number.POSITIVE_INFINITY, rowTimeout } = options;
  const readArray = createBodyReader({
    ...bodies,
    // An import has a slot instead.
    hold: () => {},
    limit: Math.min(bodies.limit, maxBytes),
    mediaTypes: ['application/json'],
    parse: (bytes) => parseArray(decodeUtf8(bytes)),
    advice: maxBytes > bodies.limit ? LARGE_ARRAYS : '',
  });

  return (request: Request, response: Response, delimiter?: ImportOptions['delimiter']): ReadRows => {
    const { type, encoding } = readContentType(IMPORT_TYPES, withoutAlias(request.headers['content-type']));
    const decompress = bodyDecompressor(request);
    if (type === 'application/json')
      return ({ signal }) => {
        const whenAborted = aborted(signal, request).then(() => {
          throw signal.reason;
        });
        return readElements(Promise.race([readArray(request, response), whenAborted]));
      };
    return (ending) => {
      const { signal } = ending;
      sendContinue(request, response);
      const pieces = streamBody(request, { signal, isCompressed: decompress !== undefined });
      const bytes = limitBytes(decompress ? decompress.stream(pieces) : pieces, maxBytes, signal);
      const text = decodeText(bytes, encoding);
      const onStalled = () => ending.abort(new StoreError('requestTooSlow', 'The body has had no row for too long.'));
      const options = { maxLineBytes: bodies.limit, delimiter };
      const rows = type === 'text/csv' ? readCsv(text, options) : readNdjson(text, options);
      return withTimer(rows, rowTimeout, onStalled);
    };
  };
};

/** @throws {StoreError} 1002; the reason of the signal, even within a piece that decompresses to many: 64 KiB can become 64 MB */
async function* limitBytes(pieces: AsyncIterable<Buffer>, maxBytes: number, signal: AbortSignal) {
  let bytes = 0;
  for await (const piece of pieces) {
    signal.throwIfAborted();
    bytes += piece.length;
    if (bytes > maxBytes) throw new StoreError('bodyTooLarge', `The import must be at most ${maxBytes} bytes.`);
    yield piece;
  }
}

/** Calls `onTimeout` if no row arrives within `milliseconds`, excluding the time that the consumer takes. */
async function* withTimer(turns: AsyncIterable<ImportRow[]>, milliseconds: number, onTimeout: () => void) {
  let timer = setTimeout(onTimeout, milliseconds);
  try {
    for await (const rows of turns) {
      if (rows.length === 0) continue;
      clearTimeout(timer);
      yield rows;
      timer = setTimeout(onTimeout, milliseconds);
    }
  } finally {
    clearTimeout(timer);
  }
}
