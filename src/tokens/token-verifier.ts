import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { BatchLimits } from '../batching/batch-queue.ts';
import { createLookUpQueue } from '../batching/look-up-queue.ts';
import { hashTokenText, type Token, tokenState, type VerifiedToken } from './token.ts';
import type { TokenRepository } from './token-repository.ts';

/** How long a token is cached, in ms. A revoked token may stay valid for this long on every replica. */
const TRUST_DURATION = 4000;
/** If more tokens are in use, some are looked up more often. */
const MAX_KNOWN_TOKENS = 10_000;
const TOKEN_PATTERN = /^plant_[\w-]{43}$/;

/**
 * Resolves with the token if it is valid: it exists, and is neither expired nor revoked. `again`: the token was valid when
 * the request began. It is then checked in the database, or by its expiry, and not in a cache.
 */
export type VerifyToken = (text: string, again?: 'again') => Promise<VerifiedToken | undefined>;

/** Limits for lookups of tokens that were valid before, and for all other lookups. */
export type TokenLimits = Record<'tokens' | 'newTokens', BatchLimits>;

type TokenVerifierOptions = {
  tokens: Pick<TokenRepository, 'findByHashes'>;
  limits: TokenLimits;
  /** Verifies tokens that do not match TOKEN_PATTERN. */
  verifyJwt?: VerifyToken | undefined;
};

type Hash = Uint8Array<ArrayBuffer>;

/** Verifies tokens. Cached tokens, and texts that cannot be tokens of the service, need no query. */
export const createTokenVerifier = ({ tokens, limits, verifyJwt }: TokenVerifierOptions): VerifyToken => {
  /** Concurrent lookups share a statement. The same prepared statement serves any number of tokens. */
  const findEach = async (hashes: Hash[]) => {
    const found = await tokens.findByHashes(hashes);
    const byHash = new Map(found.map((token) => [keyOf(token.hash), token]));
    return hashes.map((hash) => byHash.get(keyOf(hash)));
  };
  const lookUpAgain = createLookUpQueue(findEach, limits.tokens);
  const lookUp = createLookUpQueue(findEach, limits.newTokens);
  const known = new LRUCache<string, Token, Hash>({
    max: MAX_KNOWN_TOKENS,
    ttl: TRUST_DURATION,
    // By default, the cache sets a timer for each millisecond in which it is used, to read the clock only once.
    ttlResolution: 0,
    // Stale entries show which tokens were valid before. Lookups of other tokens must not delay these.
    noDeleteOnStaleGet: true,
    noDeleteOnFetchRejection: true,
    // Otherwise a lookup would fail if its entry is evicted meanwhile.
    ignoreFetchAbort: true,
    // Concurrent requests with the same token share one lookup.
    fetchMethod: (_key, known, { context: hash }) => (known === undefined ? lookUp(hash) : lookUpAgain(hash)),
  });
  return async (text, again) => {
    if (!TOKEN_PATTERN.test(text)) return verifyJwt?.(text, again);
    const hash = hashTokenText(text);
    const key = hash.toString('latin1');
    const token = again ? await lookUpAgain(hash) : (known.get(key) ?? (await known.fetch(key, { context: hash })));
    if (token === undefined || !timingSafeEqual(token.hash, hash)) return undefined;
    return tokenState(token) === 'valid' ? token : undefined;
  };
};

const keyOf = (hash: Uint8Array) => Buffer.from(hash).toString('latin1');
