import type { Response } from 'express';
import { withinTime } from '../database/within-time.ts';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { createBatchedCounter } from './batched-counter.ts';
import type { RateLimitRepository } from './rate-limit-repository.ts';

/** Counts a request for `key` and sets the RateLimit headers. @throws {ApiError} code 1400 if it exceeds the limit */
export type RateLimit = (key: string, response: Response) => Promise<void>;

/** How often the counters of ended windows are deleted, in ms. Requests trigger it. */
const SWEEP_INTERVAL = 60_000;

type RateLimitOptions = {
  counters: RateLimitRepository;
  requests: number;
  /** The length of a window, in seconds. */
  seconds: number;
  /** How long counting may take, in ms. */
  timeout: number;
  onSweepFailed: (error: Error) => void;
};

/** The response headers follow draft-ietf-httpapi-ratelimit-headers-10 §3 and §4. */
export const createRateLimit = ({
  counters,
  requests,
  seconds,
  timeout,
  onSweepFailed,
}: RateLimitOptions): RateLimit => {
  const policy = `"default";q=${requests};w=${seconds}`;
  const count = createBatchedCounter(counters.add);
  let sweptAt = Date.now();
  const sweep = () => {
    const now = Date.now();
    // The clock may have been set back.
    sweptAt = Math.min(sweptAt, now);
    if (now < sweptAt + SWEEP_INTERVAL) return;
    sweptAt = now;
    counters.deleteEnded().catch(onSweepFailed);
  };
  return async (key, response) => {
    sweep();
    const total = await withinTime(count(key), timeout);
    const wait = Math.ceil(total.endsIn / 1000);
    response.setHeader('RateLimit-Policy', policy);
    response.setHeader('RateLimit', `"default";r=${Math.max(0, requests - total.requests)};t=${wait}`);
    if (total.requests <= requests) return;
    throw new ApiError(
      commonErrors.tooManyRequests,
      `More than ${requests} requests in ${seconds} s; try again in ${wait} s.`,
      {
        headers: { 'Retry-After': `${wait}` },
      },
    );
  };
};
