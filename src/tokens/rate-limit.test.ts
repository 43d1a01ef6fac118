import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import type { Response } from 'express';
import type { BatchLimits } from '../batching/batch-queue.ts';
import type { Database } from '../database/database.ts';
import { createRateLimit } from './rate-limit.ts';

const limits: BatchLimits = {
  ...{ batches: 1, batchItems: 1, batchBytes: 1000, gatherTime: 0 },
  ...{ queueItems: 10, queueBytes: 10_000, deadline: 10_000 },
};

test.each([
  [2000, '2'],
  [2001, '3'],
])(
  'with %d ms left of its window, a token over its limit is told to wait %s s: never too short',
  async (endsIn, wait) => {
    const rows = [{ key: 'a', requests: 2, endsIn }];
    const database = { $queryRaw: async () => rows } as unknown as Database;
    const limit = createRateLimit({ database, limits, requests: 1, seconds: 60 });
    const response = new ServerResponse(new IncomingMessage(new Socket())) as unknown as Response;
    await expect(limit('a', response)).rejects.toMatchObject({
      kind: 'tooManyRequests',
      headers: { 'Retry-After': wait },
    });
    expect(response.getHeader('RateLimit')).toBe(`"default";r=0;t=${wait}`);
  },
);
