import type { Request, Response } from 'express';
import { type BatchLimits, OverloadedError } from '../batching/batch-queue.ts';
import { ApiError } from '../http/api-error.ts';
import { idempotencyErrorCodes } from './idempotency-api-errors.ts';
import { KeyReusedError } from './idempotency-errors.ts';
import { createKeyedRequest, type KeyedRequest, readIdempotencyKey } from './keyed-request.ts';

/** Makes a change. `isAbandoned`: whether no client waits for it any more. `keyed`: undefined without an Idempotency-Key. */
type Change<Result> = (isAbandoned: () => boolean, keyed?: KeyedRequest) => Promise<Result>;

type InProgress = { keyed: KeyedRequest; responses: Response[]; result: Promise<unknown> };

/** A power of 16, so that digits of a key, which is a hash, name the bucket. */
const BUCKETS = 4096;

/**
 * @returns a function that returns the requests in progress whose keys have the same first digits. Not a Map: with entries that come
 * and go, it leaves old tables behind that are kept until the next full garbage collection, which doubled the CPU time of a request.
 */
const createBuckets = () => {
  const buckets: InProgress[][] = Array.from({ length: BUCKETS }, () => []);
  return (key: string) => buckets[Number.parseInt(key.slice(0, 3), 16)] as InProgress[];
};

const DISTRIBUTED =
  'The plants of this service are distributed over several servers, so it cannot keep responses for an Idempotency-Key; ' +
  'nothing was changed. Send no key.';

/**
 * Makes the change of a request with an Idempotency-Key once: concurrent requests with the same key share the result, and
 * `change` looks up the answer to an earlier one. Marks responses that repeat an answer.
 * @param body a text that is the same for bodies with the same meaning
 * @throws {ApiError} 1300, 1303 {KeyReusedError} {OverloadedError}; the errors of `change`
 */
export type AnswerOnce = <Result>(
  request: Request,
  response: Response,
  body: () => string,
  change: Change<Result>,
) => Promise<Result>;

type AnswerOnceOptions = {
  /** Whether the table of plants is, so that keys, which are not, would need a transaction over several servers. */
  isDistributed: () => Promise<boolean>;
  /** Of requests that wait for the first one with their key, because these are not in a queue. */
  limits: Pick<BatchLimits, 'queueItems' | 'queueBytes'>;
};

export const createAnswerOnce = ({ isDistributed, limits }: AnswerOnceOptions): AnswerOnce => {
  const bucketOf = createBuckets();
  const waiting = { items: 0, bytes: 0 };

  const share = async ({ responses, result }: InProgress, response: Response, bytes: number): Promise<unknown> => {
    if (waiting.items >= limits.queueItems || waiting.bytes + bytes > limits.queueBytes)
      throw new OverloadedError('Too many requests are waiting for the first one with their Idempotency-Key.');
    responses.push(response);
    waiting.items++;
    waiting.bytes += bytes;
    try {
      return await result;
    } finally {
      waiting.items--;
      waiting.bytes -= bytes;
    }
  };

  return async <Result>(request: Request, response: Response, body: () => string, change: Change<Result>) => {
    const key = readIdempotencyKey(request);
    if (key === undefined) return change(() => response.destroyed);
    if (await isDistributed()) throw new ApiError(idempotencyErrorCodes.keyNotSupported, DISTRIBUTED);
    const text = body();
    const keyed = createKeyedRequest(response.locals.tokenName ?? '', key, request, text);
    const bucket = bucketOf(keyed.key);
    const first = bucket.find((entry) => entry.keyed.key === keyed.key);
    if (first) {
      if (first.keyed.fingerprint !== keyed.fingerprint) throw new KeyReusedError();
      try {
        return (await share(first, response, 2 * text.length)) as Result;
      } finally {
        if (first.keyed.answer !== undefined) markReplayed(response);
      }
    }
    const responses = [response];
    const result = change(() => responses.every(({ destroyed }) => destroyed), keyed);
    const entry = { keyed, responses, result };
    bucket.push(entry);
    try {
      return await result;
    } finally {
      bucket.splice(bucket.indexOf(entry), 1);
      if (keyed.answer === 'replayed') markReplayed(response);
    }
  };
};

const markReplayed = (response: Response) => void response.setHeader('Idempotent-Replayed', 'true');
