import type { Request, Response } from 'express';
import { bodyDecompressor } from '../bodies/decompress.ts';
import { readContentType } from '../bodies/media-type.ts';
import { type BodyLimits, sendContinue } from '../bodies/read-json-body.ts';
import { streamBody } from '../bodies/stream-body.ts';
import { StoreError } from '../errors.ts';
import type { ImportOptions, ReadRows } from './import.ts';
import { LARGE_ARRAYS, readArray } from './read-json.ts';
import { readElements, readRows } from './read-rows.ts';

const IMPORT_TYPES = ['application/x-ndjson', 'text/csv', 'application/json'] as const;

/** Types that browsers and tools send for these: Windows takes CSV for a file of Excel, if that is installed. */
const ALIASES = new Map<string, (typeof IMPORT_TYPES)[number]>([
  ['application/vnd.ms-excel', 'text/csv'],
  ['application/csv', 'text/csv'],
  ['application/x-csv', 'text/csv'],
  ['text/comma-separated-values', 'text/csv'],
  ['text/tab-separated-values', 'text/csv'],
  ['text/tsv', 'text/csv'],
  ['text/x-comma-separated-values', 'text/csv'],
  ['text/x-csv', 'text/csv'],
  ['application/jsonl', 'application/x-ndjson'],
  ['application/jsonlines', 'application/x-ndjson'],
  ['application/x-jsonl', 'application/x-ndjson'],
  ['application/x-jsonlines', 'application/x-ndjson'],
  ['text/jsonl', 'application/x-ndjson'],
  ['text/x-ndjson', 'application/x-ndjson'],
  ['application/ndjson', 'application/x-ndjson'],
]);

type ImportBodyOptions = {
  /** `limit`: of a line, or of a whole JSON array. */
  bodies: BodyLimits;
  /** The maximum size of an import after decompression, in bytes. */
  maxBytes?: number | undefined;
};

/**
 * Reads the rows of a request.
 * @throws {StoreError} 1001. Reading the rows throws 1002 and the errors of `streamBody` and of the reader of the format
 */
export const createImportBodyReader = ({
  bodies: { limit },
  maxBytes = Number.POSITIVE_INFINITY,
}: ImportBodyOptions) => {
  const maxArrayBytes = Math.min(limit, maxBytes);
  const tooLarge = `The body must be at most ${maxArrayBytes} bytes.${maxBytes > limit ? LARGE_ARRAYS : ''}`;
  return (request: Request, response: Response, delimiter?: ImportOptions['delimiter']): ReadRows => {
    const { type, encoding } = readContentType(IMPORT_TYPES, request.headers['content-type'], ALIASES);
    const decompress = bodyDecompressor(request);
    const isArray = type === 'application/json';
    return ({ signal }) => {
      // Before a client that waits for 100 Continue sends it.
      if (isArray && !decompress && Number(request.headers['content-length']) > maxArrayBytes)
        throw new StoreError('bodyTooLarge', tooLarge);
      sendContinue(request, response);
      const pieces = streamBody(request, { signal, isCompressed: decompress !== undefined });
      const bytes = decompress ? decompress.stream(pieces) : pieces;
      if (isArray) return readElements(readArray(bytes, { maxBytes: maxArrayBytes, tooLarge }));
      const format = type === 'text/csv' ? 'csv' : 'ndjson';
      return readRows(bytes, { format, encoding, delimiter, maxLineBytes: limit, maxBytes });
    };
  };
};
