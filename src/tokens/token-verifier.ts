import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { withinTime } from '../database/within-time.ts';
import { hashTokenText, type Token, tokenState, type VerifiedToken } from './token.ts';
import type { TokenRepository } from './token-repository.ts';

/** How long a known token is trusted without another look, in ms: what revoking it takes at most, on every replica. */
const TRUST_DURATION = 4000;
/** More tokens than this in use at once cost a look-up now and then, nothing else. */
const MAX_KNOWN_TOKENS = 10_000;
const TOKEN_PATTERN = /^plant_[\w-]{43}$/;

export type TokenVerifier = { verify(text: string): Promise<VerifiedToken | undefined> };

type TokenVerifierOptions = {
  tokens: Pick<TokenRepository, 'findByHash'>;
  /** How long a look-up may take, in ms. */
  lookUpTimeout: number;
  /** Checks what does not have the form of a token of the store's own. */
  jwts?: TokenVerifier | undefined;
};

/** Checks tokens. A known one costs no round trip; one that does not look like a token costs none either. */
export const createTokenVerifier = ({ tokens, lookUpTimeout, jwts }: TokenVerifierOptions): TokenVerifier => {
  const known = new LRUCache<string, Token, Buffer<ArrayBuffer>>({
    max: MAX_KNOWN_TOKENS,
    ttl: TRUST_DURATION,
    // By default the cache sets a timer for each millisecond in which it is asked, to read the clock once in it.
    ttlResolution: 0,
    // Several requests with one token that is not known share one look-up.
    fetchMethod: async (_key, _stale, { context: hash }) =>
      (await withinTime(tokens.findByHash(hash), lookUpTimeout)) ?? undefined,
  });
  return {
    /** @returns the token, if it is known, not expired and not revoked */
    verify: async (text) => {
      if (!TOKEN_PATTERN.test(text)) return jwts?.verify(text);
      const hash = hashTokenText(text);
      const key = hash.toString('latin1');
      const token = known.get(key) ?? (await known.fetch(key, { context: hash }));
      if (token === undefined || !timingSafeEqual(token.hash, hash)) return undefined;
      return tokenState(token) === 'valid' ? token : undefined;
    },
  };
};
