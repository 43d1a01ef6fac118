import fc from 'fast-check';
import { assemble, bodies, chunkedBodies, POST, RIGHT, requests, withLength } from './framed-requests.ts';
import { newPlant } from './json-bodies.ts';
import { method, path } from './request-parts.ts';

/** Malformed requests: the store and a proxy might disagree on where they end. */

const framing = fc.constantFrom(
  ...['Content-Length: 5', 'Content-Length: 0', 'Content-Length: 9999', 'Content-Length: -1', 'Content-Length: +5'],
  ...['Content-Length: 5, 5', 'Content-Length: 0x5', 'Content-Length: 99999999999999999999', 'Content-Length : 5'],
  ...['Transfer-Encoding: chunked', 'Transfer-Encoding: xchunked', 'Transfer-Encoding: chunked, chunked'],
  ...[
    'Transfer-Encoding: identity',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding:\tchunked',
    'Transfer-Encoding : chunked',
  ],
  ...['Transfer-Encoding: chunked\nX: y', 'X: y\r\n Content-Length: 5', 'X: \0', 'X\0: y', ': y', 'X Y: z', 'X'],
);

const chunkSize = fc.constantFrom(
  '0',
  '5',
  '-5',
  '0x5',
  'ffffffffffffffff',
  'fffffffffffffffff',
  '5 ',
  ' 5',
  '',
  'g',
  '5;',
  '5\n',
);

/** Bodies with several lengths, or with an invalid one. */
export const brokenFraming = fc
  .tuple(fc.array(framing, { minLength: 1, maxLength: 3 }), fc.array(chunkSize, { maxLength: 3 }), newPlant)
  .map(([headers, sizes, plant]) =>
    assemble({
      line: POST,
      headers: ['Host: x', ...RIGHT, ...headers],
      body: Buffer.from(
        sizes.length === 0 ? plant : `${sizes.map((size) => `${size}\r\n${plant}`).join('\r\n')}\r\n0\r\n\r\n`,
      ),
    }),
  );

export const requestLine = fc
  .tuple(
    fc.oneof(method, fc.constantFrom('post', 'CONNECT', 'PRI', '', 'GET\t', 'P\0ST', 'X'.repeat(5000))),
    fc.constantFrom(' ', '', '  ', '\t', '\r', '\n'),
    fc.oneof(path, fc.string({ unit: 'binary', maxLength: 10 })),
    fc.constantFrom(
      ' HTTP/1.1',
      ' HTTP/1.0',
      ' HTTP/0.9',
      ' HTTP/2.0',
      ' HTTP/9',
      ' http/1.1',
      '',
      ' HTTP/1.1 ',
      ' RTSP/1.0',
    ),
    newPlant,
  )
  .map(([name, gap, target, version, plant]) =>
    assemble(withLength(`${name}${gap}${target}${version}`, RIGHT, Buffer.from(plant))),
  );

const edit = fc.record({
  place: fc.nat(),
  length: fc.nat({ max: 8 }),
  insertion: fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc.constantFrom('\r\n', '\n', '\r', '\0', ':', ' ').map((text) => Buffer.from(text)),
  ),
});

/** A valid request with some bytes replaced. */
export const mutated = fc
  .tuple(fc.oneof(bodies, chunkedBodies, requests), fc.array(edit, { minLength: 1, maxLength: 3 }))
  .map(([request, edits]) =>
    edits.reduce((bytes, { place, length, insertion }) => {
      const index = place % (bytes.length + 1);
      return Buffer.concat([bytes.subarray(0, index), insertion, bytes.subarray(index + length)]);
    }, request),
  );

export const noise = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes));
