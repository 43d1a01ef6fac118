import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { BatchLimits } from '../plants/batch-queue.ts';
import { hashTokenText, type Token, tokenState, type VerifiedToken } from './token.ts';
import { createTokenLookUps } from './token-look-ups.ts';
import type { TokenRepository } from './token-repository.ts';

/** How long a known token is trusted without another look, in ms: what revoking it takes at most, on every replica. */
const TRUST_DURATION = 4000;
/** More tokens than this in use at once cost a look-up now and then, nothing else. */
const MAX_KNOWN_TOKENS = 10_000;
const TOKEN_PATTERN = /^plant_[\w-]{43}$/;

export type TokenVerifier = { verify(text: string): Promise<VerifiedToken | undefined> };

type TokenVerifierOptions = {
  tokens: Pick<TokenRepository, 'findByHashes'>;
  /** Of the look-ups of tokens that were known before, and of all others. */
  limits: Record<'tokens' | 'newTokens', BatchLimits>;
  /** Checks what does not have the form of a token of the store's own. */
  jwts?: TokenVerifier | undefined;
};

/** Checks tokens. A known one costs no round trip; one that does not look like a token costs none either. */
export const createTokenVerifier = ({ tokens, limits, jwts }: TokenVerifierOptions): TokenVerifier => {
  const lookUpAgain = createTokenLookUps({ tokens, limits: limits.tokens });
  const lookUp = createTokenLookUps({ tokens, limits: limits.newTokens });
  const known = new LRUCache<string, Token, Buffer<ArrayBuffer>>({
    max: MAX_KNOWN_TOKENS,
    ttl: TRUST_DURATION,
    // By default the cache sets a timer for each millisecond in which it is asked, to read the clock once in it.
    ttlResolution: 0,
    // Made-up tokens must not delay clients whose token was good a moment ago.
    noDeleteOnStaleGet: true,
    noDeleteOnFetchRejection: true,
    // More look-ups at once than there is room for would fail otherwise.
    ignoreFetchAbort: true,
    // Several requests with one token that is not known share one look-up.
    fetchMethod: (_key, known, { context: hash }) => (known === undefined ? lookUp(hash) : lookUpAgain(hash)),
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
