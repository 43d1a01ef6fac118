import type { Response } from 'express';
import { withinTime } from '../database/within-time.ts';
import { ApiError } from '../http/api-error.ts';
import { countTogether } from './count-together.ts';
import type { RateLimitRepository } from './rate-limit-repository.ts';

/** Counts a request for whom `key` names, and says in the answer what is left. @throws {ApiError} 1400, where it is too much */
export type RateLimit = (key: string, response: Response) => Promise<void>;

/** How often the counters of windows that have ended are deleted, beside a request, in ms. */
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

/** The fields are those of draft-ietf-httpapi-ratelimit-headers-10 §3 and §4. */
export const createRateLimit = ({
  counters,
  requests,
  seconds,
  timeout,
  onSweepFailed,
}: RateLimitOptions): RateLimit => {
  const policy = `"default";q=${requests};w=${seconds}`;
  const count = countTogether(counters.add);
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
    throw new ApiError('tooManyRequests', `More than ${requests} requests in ${seconds} s; try again in ${wait} s.`, {
      headers: { 'Retry-After': `${wait}` },
    });
  };
};
