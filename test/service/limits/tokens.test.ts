import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Request, Response } from 'express';
import type { BatchLimits } from '../../../src/batching/batch-queue.ts';
import type { Database } from '../../../src/database/database.ts';
import { createFailedTokens } from '../../../src/tokens/failed-tokens.ts';
import { createRateLimit } from '../../../src/tokens/rate-limit.ts';
import { createRequestWatch } from '../../../src/tokens/require-scope.ts';
import { generateTokenText, tokenState } from '../../../src/tokens/token.ts';
import { createTokenVerifier } from '../../../src/tokens/token-verifier.ts';
import { edge, limitOf } from '../../support/limits/edge.ts';

const START = 1_000_000_000;
let now: number;
beforeEach(() => {
  now = START;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const limits: BatchLimits = {
  batches: 1,
  batchItems: 1000,
  batchBytes: 1_000_000,
  gatherTime: 0,
  queueItems: 20_000,
  queueBytes: 100_000_000,
  deadline: 60_000,
};

describe('wrong tokens of an address', () => {
  const MAX_FAILURES = limitOf('tokens/failed-tokens.ts MAX_FAILURES');
  /** Sends wrong tokens. @returns how long the address must wait after the last, in seconds */
  const start = () => {
    const count = createFailedTokens();
    return (times: number, address = '192.0.2.1') =>
      range(times)
        .map(() => count(address))
        .at(-1);
  };

  edge('tokens/failed-tokens.ts MAX_FAILURES', 'are counted apart from others, and may be 60', {
    is: [undefined, undefined, 60],
    of: (times) => {
      const fail = start();
      fail(MAX_FAILURES, '192.0.2.2');
      return fail(times);
    },
  });
  edge('tokens/failed-tokens.ts WINDOW', 'are refused for a minute from the first one', {
    is: [1, 1, undefined],
    of: (milliseconds) => {
      const fail = start();
      now = START;
      fail(1);
      now = START + milliseconds - 500;
      fail(MAX_FAILURES);
      now = START + milliseconds;
      return fail(1);
    },
  });
  test('are told to wait for the rest of the window, to the second', () => {
    const fail = start();
    fail(MAX_FAILURES);
    const waits = [0, 1, 999, 1000, 1001, 59_000, 59_001].map((milliseconds) => {
      now = START + milliseconds;
      return fail(1);
    });
    expect(waits).toEqual([60, 60, 60, 59, 59, 1, 1]);
  });
  edge('tokens/failed-tokens.ts MAX_ADDRESSES', 'are remembered for 10,000 addresses', {
    is: [60, 60, undefined],
    of: (addresses) => {
      const fail = start();
      fail(MAX_FAILURES);
      for (const other of range(addresses - 1)) fail(1, `other ${other}`);
      return fail(1);
    },
  });
});

describe('RATE_LIMIT', () => {
  /** A limit of five requests a minute, whose counters have these totals in PostgreSQL. */
  const start = ({ requests = 1, endsIn = 60_000 } = {}) => {
    const sent = { counts: 0 };
    const database = {
      $queryRaw: async (_sql: unknown, _length: unknown, _present: unknown, keys: string[]) => {
        sent.counts += 1;
        return [keys].flat().map((key) => ({ key, requests, endsIn }));
      },
    };
    const count = createRateLimit({
      database: database as unknown as Database,
      limits,
      requests: 5,
      seconds: 60,
    });
    const send = async (key = 'token:a') => {
      const headers = new Map<string, string>();
      const response = { setHeader: headers.set.bind(headers) } as unknown as Response;
      const error = await count(key, response).catch((reason: unknown) => reason as { headers: object });
      return [headers.get('RateLimit'), error?.headers];
    };
    return { send, sent };
  };

  edge('setting RATE_LIMIT', 'is the number of requests in a window', {
    value: 5,
    is: [
      ['"default";r=1;t=60', undefined],
      ['"default";r=0;t=60', undefined],
      ['"default";r=0;t=60', { 'Retry-After': '60' }],
    ],
    of: (requests) => start({ requests }).send(),
  });
  test.each([
    [1, '1'],
    [1000, '1'],
    [1001, '2'],
    [59_000, '59'],
    [59_001, '60'],
  ])('a client with %d ms left is told to wait for all of them: %s s', async (endsIn, wait) => {
    const { send, sent } = start({ requests: 6, endsIn });
    const refused = [`"default";r=0;t=${wait}`, { 'Retry-After': wait }];
    expect([await send(), await send()]).toEqual([refused, refused]);
    // The second time without a look into the database.
    expect(sent.counts).toBe(1);
  });
  edge('tokens/rate-limit.ts MAX_BLOCKED', 'remembers 10,000 tokens and addresses that are over it', {
    is: [0, 0, 1],
    of: async (keys) => {
      const { send, sent } = start({ requests: 6 });
      await send('first');
      await Promise.all(range(keys - 1).map((key) => send(`other ${key}`)));
      const before = sent.counts;
      await send('first');
      return sent.counts - before;
    },
  });
});

describe('a token of the store', () => {
  const start = ({ noteUse = async () => {}, isUseNoted = true } = {}) => {
    const sent = { lookUps: 0 };
    const verify = createTokenVerifier({
      tokens: {
        findByHashes: async (hashes) => {
          sent.lookUps += 1;
          const times = { createdAt: new Date(), expiresAt: null, revokedAt: null, lastUsedAt: null };
          const token = { name: 'test', scopes: [], ...times, isUseNoted };
          return hashes.map((hash) => ({ ...token, hash }));
        },
        noteUse,
      },
      limits: { tokens: limits, newTokens: limits },
    });
    return { verify, sent };
  };

  edge('tokens/token-verifier.ts TRUST_DURATION', 'is trusted for four seconds', {
    is: [1, 1, 2],
    of: async (milliseconds) => {
      now = START;
      const { verify, sent } = start();
      const text = generateTokenText();
      await verify(text);
      now += milliseconds;
      await verify(text);
      return sent.lookUps;
    },
  });
  edge('tokens/token-verifier.ts MAX_KNOWN_TOKENS', 'is looked up more often if there are more than 10,000 in use', {
    is: [0, 0, 1],
    of: async (count) => {
      const { verify, sent } = start();
      const texts = range(count).map(generateTokenText);
      await Promise.all(texts.map((text) => verify(text)));
      const before = sent.lookUps;
      await verify(texts[0] ?? '');
      return sent.lookUps - before;
    },
  });
  edge('tokens/token-verifier.ts NOTE_PAUSE', 'no use is noted for a minute after one could not be', {
    is: [1, 2, 2],
    of: async (milliseconds) => {
      now = START;
      let attempts = 0;
      const noteUse = async () => {
        attempts += 1;
        throw new Error('permission denied');
      };
      const { verify } = start({ noteUse, isUseNoted: false });
      await verify(generateTokenText());
      for (let turn = 0; turn < 5; turn++) await setImmediate();
      now += milliseconds;
      await verify(generateTokenText());
      for (let turn = 0; turn < 5; turn++) await setImmediate();
      return attempts;
    },
  });
  test('is valid until the millisecond of its expiry', () => {
    const states = [-1, 0, 1].map((passed) => tokenState({ revokedAt: null, expiresAt: new Date(now) }, now + passed));
    expect(states).toEqual(['valid', 'expired', 'expired']);
  });
  edge('RequestLimits tokenCheckInterval', 'is checked every five seconds while a body or response streams', {
    is: [0, 1, 1],
    of: async (interval) => {
      jest.useFakeTimers();
      const verifyToken = jest.fn(async () => ({ name: 'test', scopes: [], state: 'valid' as const }));
      const response = { once: jest.fn(), destroyed: false };
      const request = { headers: { authorization: 'Bearer x' } };
      const watch = createRequestWatch({ verifyToken, interval: limitOf('RequestLimits tokenCheckInterval') });
      watch(request as Request, response as unknown as Response);
      jest.advanceTimersByTime(interval);
      const [, onClose] = response.once.mock.calls[0] as [string, () => void];
      onClose();
      return verifyToken.mock.calls.length;
    },
  });
});
