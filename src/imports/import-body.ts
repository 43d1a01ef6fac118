import type { Request, Response } from 'express';
import { bodyDecompressor } from '../bodies/decompress.ts';
import { readContentType } from '../bodies/media-type.ts';
import { sendContinue } from '../bodies/read-json-body.ts';
import { streamBody } from '../bodies/stream-body.ts';
import type { ReadRows } from './import.ts';
import { arrayTooLarge } from './read-json.ts';
import { type FileOptions, importTooLarge, readRows } from './read-rows.ts';

/** Types that browsers and tools send for these: Windows takes CSV for a file of Excel, if that is installed. */
const ALIASES = [
  ['text/csv', /^application\/vnd\.ms-excel$|^(application|text)\/(x-)?(csv|tsv|(comma|tab)-separated-values)$/],
  ['application/x-ndjson', /^(application|text)\/(x-)?(ndjson|jsonl|jsonlines)$/],
] as const;

const FORMATS = { 'application/x-ndjson': 'ndjson', 'text/csv': 'csv', 'application/json': 'json' } as const;
const IMPORT_TYPES = Object.keys(FORMATS) as (keyof typeof FORMATS)[];

/**
 * Reads the rows of a request.
 * @param options their sizes are those after decompression
 * @throws {StoreError} 1001. Reading the rows throws 1002 and the errors of `streamBody` and of the reader of the format
 */
export const readImportBody = (
  request: Request,
  response: Response,
  options: Omit<FileOptions, 'format' | 'encoding'>,
): ReadRows => {
  const { type, encoding } = readContentType(IMPORT_TYPES, request.headers['content-type'], ALIASES);
  const format = FORMATS[type];
  const { maxBytes = Number.POSITIVE_INFINITY } = options;
  const decompress = bodyDecompressor(request);
  return (signal) => {
    // Before a client that waits for 100 Continue sends it.
    const size = decompress ? 0 : Number(request.headers['content-length'] ?? 0);
    if (size > maxBytes) throw importTooLarge(maxBytes);
    if (format === 'json' && size > options.maxLineBytes) throw arrayTooLarge(options.maxLineBytes);
    sendContinue(request, response);
    const pieces = streamBody(request, { signal, isCompressed: decompress !== undefined });
    const bytes = decompress ? decompress.stream(pieces) : pieces;
    return readRows(bytes, { format, encoding, ...options });
  };
};
