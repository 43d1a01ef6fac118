import fc from 'fast-check';
import { brokenFraming, mutated, noise, requestLine } from './broken-requests.ts';
import { bodies, chunkedBodies, encodedBodies, requests } from './framed-requests.ts';

/**
 * What one connection sends. If it is `framed`, it is certain where each request ends, so that each gets one response before the
 * next is sent; otherwise the number of requests is unknown.
 */
export type Conversation = { kind: string; framed: boolean; requests: Buffer[] };

const inTurn = (kind: string, request: fc.Arbitrary<Buffer>) =>
  fc
    .array(request, { minLength: 1, maxLength: 16, size: 'max' })
    .map((list) => ({ kind, framed: true, requests: list }));

const alone = (kind: string, request: fc.Arbitrary<Buffer>) =>
  request.map((bytes) => ({ kind, framed: false, requests: [bytes] }));

/** The requests of one connection. */
export const conversation: fc.Arbitrary<Conversation> = fc.oneof(
  { weight: 4, arbitrary: inTurn('JSON bodies', bodies) },
  { weight: 4, arbitrary: inTurn('methods, paths and headers', requests) },
  { weight: 1, arbitrary: inTurn('compressed bodies', encodedBodies) },
  { weight: 2, arbitrary: inTurn('chunked bodies', chunkedBodies) },
  { weight: 8, arbitrary: alone('broken framing', brokenFraming) },
  { weight: 8, arbitrary: alone('request lines', requestLine) },
  { weight: 16, arbitrary: alone('mutated requests', mutated) },
  { weight: 8, arbitrary: alone('random bytes', noise) },
);
