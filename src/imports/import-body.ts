import { aborted } from 'node:util';
import type { Request, Response } from 'express';
import type { BodySlots } from '../bodies/body-slots.ts';
import { bodyDecompressor } from '../bodies/decompress.ts';
import { clientDisconnected } from '../bodies/gather-body.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { createBodyReader, decodeText, sendContinue } from '../bodies/read-json-body.ts';
import { streamBody } from '../bodies/stream-body.ts';
import type { ReadRows } from './import.ts';
import { readCsv, readJsonArray, readNdjson } from './read-rows.ts';

/** The media types of an import. */
export const IMPORT_TYPES = ['application/x-ndjson', 'text/csv', 'application/json'] as const;

type ImportBodyOptions = {
  /** The maximum size of a line, or of a whole JSON array, after decompression, in bytes. */
  bodyLimit: number;
  bodySlots: BodySlots;
  /** How long the client may pause between bytes, in ms. */
  pauseTimeout: number;
};

/** @throws {ApiError} 1001. Iterating the rows throws the errors of `streamBody` and of the format's reader */
export type ImportBodyReader = (request: Request, response: Response) => ReadRows;

/** Reads the rows of a request. Buffers a JSON array; streams the other formats. */
export const createImportBodyReader = ({ bodyLimit, bodySlots, pauseTimeout }: ImportBodyOptions): ImportBodyReader => {
  const readArray = createBodyReader({
    limit: bodyLimit,
    slots: bodySlots,
    mediaType: 'application/json',
    parse: (bytes) => decodeText(bytes),
  });

  async function* readArrayRows(request: Request, response: Response, signal: AbortSignal) {
    const whenAborted = aborted(signal, request).then(() => {
      throw signal.reason;
    });
    yield* readJsonArray(await Promise.race([readArray(request, response), whenAborted]));
  }

  return (request, response) => {
    const type = readMediaType(IMPORT_TYPES, request.headers['content-type']);
    const decompress = bodyDecompressor(request);
    if (type === 'application/json') return (signal) => readArrayRows(request, response, signal);
    const readRows = type === 'text/csv' ? readCsv : readNdjson;
    return (signal) => {
      sendContinue(request, response);
      const pieces = streamBody(request, response, { pauseTimeout, signal });
      const bytes = whileWanted(decompress ? decompress(pieces) : pieces, response, signal);
      return readRows(bytes, { maxLineBytes: bodyLimit });
    };
  };
};

/** Stops within a piece of the body that decompresses to many: 64 KiB of gzip can become 64 MB. */
async function* whileWanted(bytes: AsyncIterable<Buffer>, response: Response, signal: AbortSignal) {
  for await (const piece of bytes) {
    if (response.destroyed) throw clientDisconnected();
    signal.throwIfAborted();
    yield piece;
  }
}
