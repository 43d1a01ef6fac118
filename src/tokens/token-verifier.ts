import { AsyncResource } from 'node:async_hooks';
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type BatchLimits, createBatchQueue } from '../batching/batch-queue.ts';
import { DatabaseTimeoutError } from '../database/within-time.ts';
import { hashTokenText, type Token, tokenState, type VerifiedToken } from './token.ts';
import type { TokenRepository } from './token-repository.ts';

/** How long a token is cached, in ms. A revoked token may stay valid for this long on every replica. */
const TRUST_DURATION = 4000;
/** If more tokens are in use, some are looked up more often. */
const MAX_KNOWN_TOKENS = 10_000;
const TOKEN_PATTERN = /^plant_[\w-]{43}$/;

export type TokenVerifier = { verify(text: string): Promise<VerifiedToken | undefined> };

/** Limits for the lookups of tokens that were valid before, and of all others. */
export type TokenLimits = Record<'tokens' | 'newTokens', BatchLimits>;

type TokenVerifierOptions = {
  tokens: Pick<TokenRepository, 'findByHashes'>;
  limits: TokenLimits;
  /** Verifies tokens that do not match TOKEN_PATTERN. */
  jwts?: TokenVerifier | undefined;
};

/** Verifies tokens. Cached tokens and texts that do not match TOKEN_PATTERN cost no query. */
export const createTokenVerifier = ({ tokens, limits, jwts }: TokenVerifierOptions): TokenVerifier => {
  const lookUpAgain = createTokenLookUps({ tokens, limits: limits.tokens });
  const lookUp = createTokenLookUps({ tokens, limits: limits.newTokens });
  const known = new LRUCache<string, Token, Buffer<ArrayBuffer>>({
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
  return {
    /** @returns the token if it exists and is neither expired nor revoked; otherwise undefined */
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

type Hash = Uint8Array<ArrayBuffer>;

type TokenLookUpsOptions = Pick<TokenVerifierOptions, 'tokens'> & { limits: BatchLimits };

/** Concurrent lookups share a statement. The same prepared statement serves any number of tokens. */
const createTokenLookUps = ({ tokens, limits }: TokenLookUpsOptions) => {
  const queue = createBatchQueue({
    run: async (lookUps: { hash: Hash; find: typeof tokens.findByHashes }[]) => {
      const found = await lookUps[0]?.find(lookUps.map(({ hash }) => hash));
      const byHash = new Map(found?.map((token) => [keyOf(token.hash), token]));
      return lookUps.map(({ hash }) => byHash.get(keyOf(hash)));
    },
    bytesOf: () => 0,
    lateError: () => new DatabaseTimeoutError(),
    limits,
  });
  /**
   * Looks up a token by its hash, in the trace of the first request that waits for the statement.
   * @throws {OverloadedError} or any database error
   */
  return (hash: Hash): Promise<Token | undefined> => queue.add({ hash, find: AsyncResource.bind(tokens.findByHashes) });
};

const keyOf = (hash: Uint8Array) => Buffer.from(hash).toString('latin1');
