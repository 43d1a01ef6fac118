import type { Response } from 'express';
import { LRUCache } from 'lru-cache';
import type { BatchLimits, ObserveQueue } from '../batching/batch-queue.ts';
import { createLookUpQueue } from '../batching/queues.ts';
import type { Database } from '../database/database.ts';
import { StoreError } from '../errors.ts';
import { createRateLimitRepository } from './rate-limit-repository.ts';

/** Counts a request for `key` and sets the RateLimit headers. @throws {StoreError} code 1400 if it exceeds the limit */
export type RateLimit = (key: string, response: Response) => Promise<void>;

/** Keys over their limit that are remembered. Others are counted in the database again. */
const MAX_BLOCKED = 10_000;

type RateLimitOptions = {
  database: Database;
  /** For counting. */
  limits: BatchLimits;
  observeQueue?: ObserveQueue;
  requests: number;
  /** The length of a window, in seconds. */
  seconds: number;
};

/** The response headers follow draft-ietf-httpapi-ratelimit-headers-10 §3 and §4. */
export const createRateLimit = ({ database, limits, observeQueue, requests, seconds }: RateLimitOptions): RateLimit => {
  const policy = `"default";q=${requests};w=${seconds}`;
  // A key over its limit costs no statement until its window ends. ttlResolution 0 avoids timers; see failed-tokens.ts.
  const blocked = new LRUCache<string, true>({ max: MAX_BLOCKED, ttlResolution: 0 });
  const add = createLookUpQueue(createRateLimitRepository({ database, seconds }), { limits, observe: observeQueue });

  const count = async (key: string) => {
    const blockedFor = blocked.getRemainingTTL(key);
    if (blockedFor > 0) return { left: -1, endsIn: blockedFor };
    const total = await add(key);
    const left = requests - total.requests;
    if (left < 0) blocked.set(key, true, { ttl: total.endsIn });
    return { left, endsIn: total.endsIn };
  };

  return async (key, response) => {
    const { left, endsIn } = await count(key);
    const wait = Math.ceil(endsIn / 1000);
    response.setHeader('RateLimit-Policy', policy);
    response.setHeader('RateLimit', `"default";r=${Math.max(0, left)};t=${wait}`);
    if (left >= 0) return;
    const message = `More than ${requests} requests in ${seconds} s; try again in ${wait} s.`;
    throw new StoreError('tooManyRequests', message, { headers: { 'Retry-After': `${wait}` } });
  };
};
