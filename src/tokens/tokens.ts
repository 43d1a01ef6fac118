import type { Logger } from 'pino';
import type { ObserveQueue } from '../batching/batch-queue.ts';
import type { Database } from '../database/database.ts';
import { createJwtVerifier, type JwtVerifierOptions } from './jwt-verifier.ts';
import { createRateLimit } from './rate-limit.ts';
import { endedWindows } from './rate-limit-repository.ts';
import { createRequestWatch, createRequireScope } from './require-scope.ts';
import { createTokenRepository } from './token-repository.ts';
import { createTokenVerifier, type TokenLimits } from './token-verifier.ts';

type TokensOptions = {
  database: Database;
  /** `tokenCheckInterval`: of requests that stream, in ms. */
  limits: TokenLimits & { tokenCheckInterval: number };
  /** Undefined: no tokens but the store's own. */
  identityProvider: Omit<JwtVerifierOptions, 'logger'> | undefined;
  /** Per number of seconds. Undefined: no limit. */
  rateLimit: { requests: number; seconds: number } | undefined;
  observeQueue: ObserveQueue;
  logger: Logger;
};

/** The stored tokens, and the middleware that checks the token of a request and counts the request. */
export const createTokens = (options: TokensOptions) => {
  const { database, limits, identityProvider, rateLimit, observeQueue, logger } = options;
  const repository = createTokenRepository({ database });
  const verifyJwt = identityProvider && createJwtVerifier({ ...identityProvider, logger });
  const verifyToken = createTokenVerifier({ tokens: repository, limits, observeQueue, logger, verifyJwt });
  const requireScope = createRequireScope({
    verifyToken,
    rateLimit: rateLimit && createRateLimit({ ...rateLimit, database, limits: limits.tokens, observeQueue }),
  });
  const watchRequest = createRequestWatch({ verifyToken, interval: limits.tokenCheckInterval });
  return {
    repository,
    requireScope,
    watchRequest,
    /** What expires in the database: counters, if there is a limit. */
    expired: rateLimit ? [endedWindows(rateLimit.seconds)] : [],
  };
};
