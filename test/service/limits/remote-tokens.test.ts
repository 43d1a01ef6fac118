import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import type { BatchLimits } from '../../../src/batching/batch-queue.ts';
import { createJwtVerifier } from '../../../src/tokens/jwt-verifier.ts';
import { createTokenVerifier } from '../../../src/tokens/token-verifier.ts';
import { edge } from '../../support/limits/edge.ts';

const NOW = Date.UTC(2026, 0, 1);
const EXPIRY = NOW / 1000 + 1_000_000;
const PROVIDER = { issuer: 'https://login.example', audience: 'https://plants.example' };

/** The keys that the provider has, and how it responds. */
let keys: JWK[];
let respond: () => Response;
let signingKey: CryptoKey;
let publicKey: JWK;
let otherKey: JWK;
beforeAll(async () => {
  const [pair, other] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')];
  signingKey = pair.privateKey;
  publicKey = { ...(await exportJWK(pair.publicKey)), alg: 'ES256', use: 'sig' };
  otherKey = { ...(await exportJWK(other.publicKey)), alg: 'ES256', use: 'sig' };
});

let fetches: number;
let refusals: string[];
let elapsed: number;
beforeEach(() => {
  keys = [{ ...publicKey, kid: 'known' }];
  respond = () => new Response(JSON.stringify({ keys }));
  fetches = 0;
  elapsed = 1000;
  // Only the two clocks are the test's.
  jest.useFakeTimers({
    now: NOW,
    doNotFake: ['nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'setTimeout'],
  });
  jest.spyOn(performance, 'now').mockImplementation(() => elapsed);
  jest.spyOn(globalThis, 'fetch').mockImplementation(async () => {
    fetches += 1;
    return respond();
  });
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const sign = (claims: Record<string, unknown> = {}, kid: string | undefined = 'known') =>
  new SignJWT({ iss: PROVIDER.issuer, aud: PROVIDER.audience, sub: 'alice', exp: EXPIRY, ...claims })
    .setProtectedHeader({ alg: 'ES256', ...(kid && { kid }) })
    .sign(signingKey);

const turn = async () => {
  for (let turns = 0; turns < 5; turns++) await setImmediate();
};

const start = () => {
  jest.setSystemTime(NOW);
  fetches = 0;
  refusals = [];
  const unused = {} as BatchLimits;
  const verify = createTokenVerifier({
    tokens: { findByHashes: async () => [], noteUse: async () => {} },
    limits: { tokens: unused, newTokens: unused },
    verifyJwt: createJwtVerifier({
      ...PROVIDER,
      jwksUrl: 'https://login.example/jwks',
      logger: { info: ({ reason }: { reason: string }) => void refusals.push(reason), warn: () => {} },
    }),
  });
  const outcome = (text: string, again?: 'again') =>
    verify(text, again).then(
      (token) => token?.state === 'valid',
      (error: Error) => error.name,
    );
  return { verify, outcome };
};

describe('a token of the identity provider', () => {
  edge(
    'tokens/jwt-verifier.ts CLOCK_TOLERANCE',
    'is accepted up to five seconds after its expiry, also while a body streams',
    {
      is: [
        [true, true],
        [false, false],
        [false, false],
      ],
      of: async (seconds) => {
        const { outcome } = start();
        jest.setSystemTime((EXPIRY + seconds) * 1000);
        const token = await sign();
        return [await outcome(token), await outcome(token, 'again')];
      },
    },
  );
  edge('tokens/jwt-verifier.ts CLOCK_TOLERANCE', 'is accepted from five seconds before it is valid', {
    is: [true, true, false],
    of: async (seconds) => start().outcome(await sign({ nbf: NOW / 1000 + seconds })),
  });
  edge('tokens/token-verifier.ts TRUST_DURATION', 'is verified again after four seconds', {
    is: [true, true, false],
    of: async (milliseconds) => {
      const { outcome } = start();
      const token = await sign({ nbf: NOW / 1000 });
      await outcome(token);
      elapsed += milliseconds;
      // A minute earlier, only a token that is still trusted is accepted.
      jest.setSystemTime(NOW - 60_000);
      return outcome(token);
    },
  });
  edge('tokens/jwt-verifier.ts CLOCK_TOLERANCE', 'is refused once it expires, even while it is trusted', {
    is: [true, false, false],
    of: async (seconds) => {
      const { outcome } = start();
      const token = await sign();
      await outcome(token);
      jest.setSystemTime((EXPIRY + seconds) * 1000);
      return outcome(token);
    },
  });
  edge(
    'tokens/jwt-verifier.ts {1,128}',
    'has the name of its subject, or a hash of one with more than 128 characters',
    {
      is: [true, true, false],
      of: async (length) => {
        const sub = 'x'.repeat(length);
        return (await start().verify(await sign({ sub })))?.name === `jwt:${sub}`;
      },
    },
  );

  edge('tokens/jwt-verifier.ts MAX_TRIED_KEYS', 'without a key id may be signed with the tenth key that fits', {
    is: [true, true, false],
    of: async (place) => {
      const others = Array.from({ length: place - 1 }, (_, index) => ({ ...otherKey, kid: `other-${index}` }));
      keys = [...others, { ...publicKey, kid: 'known' }];
      return start().outcome(await sign({}, ''));
    },
  });
  test('that is refused has 200 characters of a wrong claim in the log', async () => {
    await start().outcome(await sign({ iss: 'x'.repeat(1000) }));
    expect(refusals).toEqual([expect.stringMatching(/: "x{199}$/)]);
  });

  test('without a key id is refused, as any wrong token, if no key is left', async () => {
    keys = [];
    expect(await start().outcome(await sign({}, ''))).toBe(false);
  });
});

describe('the keys of the identity provider', () => {
  /** How often they were fetched once two tokens came, the second after this time. */
  const fetchesAfter = async (milliseconds: number, second: string, first = second) => {
    const { outcome } = start();
    await outcome(first);
    jest.setSystemTime(NOW + milliseconds);
    await outcome(second);
    return fetches;
  };

  edge('tokens/jwt-verifier.ts COOLDOWN', 'are fetched for an unknown key id 30 seconds after the last time', {
    is: [1, 2, 2],
    of: async (milliseconds) => fetchesAfter(milliseconds, await sign({}, 'unknown'), await sign()),
  });
  edge('tokens/jwt-verifier.ts COOLDOWN', 'are fetched for a wrong signature 30 seconds after the last time', {
    is: [1, 2, 2],
    of: async (milliseconds) => {
      const forged = (await sign()).replace(/.{9}$/, 'AAAAAAAAA');
      return fetchesAfter(milliseconds, forged, await sign());
    },
  });
  edge('tokens/jwt-verifier.ts FETCH_INTERVAL', 'are fetched again five seconds after a failure', {
    is: [1, 2, 2],
    of: async (milliseconds) => {
      respond = () => new Response('', { status: 500 });
      return fetchesAfter(milliseconds, await sign());
    },
  });
  edge('tokens/jwt-verifier.ts REFRESH_AGE', 'are refreshed once they are five minutes old', {
    is: [1, 2, 2],
    of: async (milliseconds) => fetchesAfter(milliseconds, await sign({ sub: 'bob' }), await sign()),
  });
  edge('tokens/jwt-verifier.ts MAX_AGE', 'are used for a day while the provider is unreachable', {
    is: [true, 'identityProviderUnreachable', 'identityProviderUnreachable'],
    of: async (milliseconds) => {
      const { outcome } = start();
      respond = () => new Response(JSON.stringify({ keys }));
      await outcome(await sign());
      respond = () => new Response('', { status: 500 });
      jest.setSystemTime(NOW + milliseconds);
      return outcome(await sign({ sub: 'bob' }));
    },
  });
  edge('tokens/jwt-verifier.ts MAX_SIZE', 'may take one mebibyte', {
    is: [true, true, 'identityProviderUnreachable'],
    of: async (size) => {
      respond = () => new Response(JSON.stringify({ keys }).padEnd(size));
      return start().outcome(await sign());
    },
  });
  edge('tokens/jwt-verifier.ts FETCH_TIMEOUT', 'may take three seconds to arrive', {
    is: [undefined, 'identityProviderUnreachable', 'identityProviderUnreachable'],
    of: async (milliseconds) => {
      const { outcome } = start();
      const ending = new AbortController();
      let limit = Number.POSITIVE_INFINITY;
      jest.spyOn(AbortSignal, 'timeout').mockImplementation((time) => {
        limit = time;
        return ending.signal;
      });
      jest
        .spyOn(globalThis, 'fetch')
        .mockImplementation(
          (_url, options) =>
            new Promise((_resolve, reject) =>
              options?.signal?.addEventListener('abort', () => reject(ending.signal.reason)),
            ),
        );
      let found: unknown;
      const verifying = outcome(await sign()).then((end) => {
        found = end;
      });
      await turn();
      if (milliseconds >= limit) ending.abort();
      await turn();
      const inTime = found;
      ending.abort();
      await verifying;
      return inTime;
    },
  });
});
