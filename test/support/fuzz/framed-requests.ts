import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { jsonBody } from './json-bodies.ts';
import { extraHeader, mediaType, method, path, TOKEN, token } from './request-parts.ts';

/** Requests with a certain end, even if something else is wrong with them. */

type Parts = { line: string; headers: string[]; body: Buffer };

export const assemble = ({ line, headers, body }: Parts) =>
  Buffer.concat([Buffer.from([line, ...headers, '', ''].join('\r\n'), 'latin1'), body]);

export const withLength = (line: string, headers: string[], body: Buffer): Parts => ({
  line,
  headers: ['Host: x', ...headers, `Content-Length: ${body.length}`],
  body,
});

export const RIGHT = [`Authorization: Bearer ${TOKEN}`, 'Content-Type: application/json'];
export const POST = 'POST /plants HTTP/1.1';

const compress = fc.constantFrom<[string, (bytes: Buffer) => Buffer]>(
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['deflate', deflateRawSync],
  ['GZIP', gzipSync],
  ['x-gzip', gzipSync],
  ['identity', (bytes) => bytes],
  ['gzip, br', (bytes) => brotliCompressSync(gzipSync(bytes))],
  ['gzip', (bytes) => bytes],
  ['br', (bytes) => bytes],
  ['gzip', (bytes) => gzipSync(bytes).subarray(0, -6)],
  ['gzip', (bytes) => Buffer.concat([gzipSync(bytes), gzipSync(bytes)])],
  ['gzip', () => gzipSync(Buffer.alloc(3_000_000, ' '))],
  ['__proto__', (bytes) => bytes],
);

/** A chunked body (RFC 9112 §7.1), with extensions and trailers. */
const chunked = (body: Buffer, cuts: number[], [extension, trailer]: [string, string]) => {
  const places = [0, ...cuts.map((cut) => cut % (body.length + 1)).sort((a, b) => a - b), body.length];
  const chunks = places
    .slice(1)
    .map((end, index) => body.subarray(places[index], end))
    .filter(({ length }) => length > 0);
  const encoded = chunks.flatMap((chunk) => [`${chunk.length.toString(16)}${extension}\r\n`, chunk, '\r\n']);
  return Buffer.concat([...encoded, `0\r\n${trailer}\r\n`].map((part) => Buffer.from(part as Buffer)));
};

export const bodies = jsonBody.map((body) => assemble(withLength(POST, RIGHT, body)));

export const requests = fc
  .tuple(method, path, token, mediaType, fc.array(extraHeader, { maxLength: 4 }), jsonBody)
  .filter(([, target]) => !/[\s]/.test(target))
  .map(([name, target, authorization, type, extra, body]) =>
    assemble(withLength(`${name} ${target} HTTP/1.1`, [authorization, `Content-Type: ${type}`, ...extra], body)),
  );

export const encodedBodies = fc
  .tuple(compress, jsonBody)
  .map(([[name, encode], body]) => assemble(withLength(POST, [...RIGHT, `Content-Encoding: ${name}`], encode(body))));

export const chunkedBodies = fc
  .tuple(
    token,
    jsonBody,
    fc.array(fc.nat(), { maxLength: 5 }),
    fc.constantFrom<[string, string]>(
      ['', ''],
      [';x=y', ''],
      ['', 'X-Trailer: 1\r\n'],
      [';x="y;z"', 'Host: y\r\nId: 1\r\n'],
    ),
  )
  .map(([authorization, body, cuts, odds]) =>
    assemble({
      line: POST,
      headers: ['Host: x', authorization, 'Content-Type: application/json', 'Transfer-Encoding: chunked'],
      body: chunked(body, cuts, odds),
    }),
  );
