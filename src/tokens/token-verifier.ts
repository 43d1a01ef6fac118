import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { BatchLimits, ObserveQueue } from '../batching/batch-queue.ts';
import { createLookUpQueue } from '../batching/queues.ts';
import { type CheckedToken, hashTokenText, tokenState, type VerifiedToken } from './token.ts';
import type { TokenRepository } from './token-repository.ts';

/** How long a token is trusted without another check, in ms. A revoked token may stay valid for this long on every instance. */
const TRUST_DURATION = 4000;
/** If more tokens are in use, some are checked more often. */
const MAX_KNOWN_TOKENS = 10_000;
/** How long no use is noted after one could not be, in ms. */
const NOTE_PAUSE = 60_000;
const TOKEN_PATTERN = /^plant_[\w-]{43}$/;

/**
 * Resolves with the token if it exists; its state says whether it is valid. `again`: the token was valid when the request
 * began, and is checked even if it is still trusted.
 */
export type VerifyToken = (text: string, again?: 'again') => Promise<VerifiedToken | undefined>;

/** Limits for lookups of tokens that were found before, and for all other lookups. */
export type TokenLimits = Record<'tokens' | 'newTokens', BatchLimits>;

type TokenVerifierOptions = {
  tokens: Pick<TokenRepository, 'findByHashes' | 'noteUse'>;
  limits: TokenLimits;
  observeQueue?: ObserveQueue;
  logger?: Pick<Logger, 'warn'>;
  /** Verifies tokens that do not match TOKEN_PATTERN. */
  verifyJwt?: ((text: string) => Promise<CheckedToken | undefined>) | undefined;
};

/** `trustedUntil`: in ms of the monotonic clock. */
type KnownToken = { token: CheckedToken; trustedUntil: number };

/** Verifies tokens. Those checked a moment ago, and texts that cannot be tokens of the service, need no query. */
export const createTokenVerifier = ({
  tokens,
  limits,
  observeQueue: observe,
  logger,
  verifyJwt,
}: TokenVerifierOptions): VerifyToken => {
  /** Concurrent lookups share a statement. */
  const findEach = async (hashes: string[]) => {
    const found = new Map((await tokens.findByHashes(hashes)).map((token) => [token.hash, token]));
    return hashes.map((hash) => found.get(hash));
  };
  // Lookups of other tokens must not delay those that were found before, which have a queue of their own.
  const lookUpKnown = createLookUpQueue(findEach, { limits: limits.tokens, observe });
  const lookUpNew = createLookUpQueue(findEach, { limits: limits.newTokens, observe });
  // Apart from requests, one after another. What fails is noted with a later look-up.
  const lastUses = createLookUpQueue(async ([name = '']: string[]) => [await tokens.noteUse(name)], {
    limits: { ...limits.tokens, batches: 1, batchItems: 1 },
    observe,
  });
  let pausedUntil = 0;
  /** By the hash of their texts, as `checks`. */
  const known = new LRUCache<string, KnownToken>({ max: MAX_KNOWN_TOKENS });

  const checks = new Map<string, Promise<CheckedToken | undefined>>();

  const check = async (text: string, hash: string, isKnown: boolean) => {
    const lookUp = isKnown ? lookUpKnown : lookUpNew;
    const token = await (TOKEN_PATTERN.test(text) ? lookUp(hash) : verifyJwt?.(text));
    const isFirstUse = token?.isUseNoted === false && tokenState(token) === 'valid';
    if (isFirstUse && performance.now() >= pausedUntil)
      lastUses(token.name).catch((error) => {
        pausedUntil = performance.now() + NOTE_PAUSE;
        logger?.warn({ err: error }, 'the last use of a token could not be noted');
      });
    if (token) known.set(hash, { token, trustedUntil: performance.now() + TRUST_DURATION });
    return token;
  };
  /** Concurrent requests with the same token share a check. */
  const checkOnce = (text: string, hash: string, isKnown: boolean) => {
    const checking = checks.get(hash) ?? check(text, hash, isKnown).finally(() => checks.delete(hash));
    checks.set(hash, checking);
    return checking;
  };

  return async (text, again) => {
    const hash = hashTokenText(text);
    const before = known.get(hash);
    const isTrusted = !again && before && performance.now() <= before.trustedUntil;
    const token = isTrusted ? before.token : await checkOnce(text, hash, before !== undefined || again !== undefined);
    return token && { name: token.name, scopes: token.scopes, state: tokenState(token) };
  };
};
