import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { createRateLimit } from '../limits/rate-limit.ts';
import { createJwtVerifier, type JwtVerifierOptions } from './jwt-verifier.ts';
import { createRequireScope } from './require-scope.ts';
import { createTokenRepository } from './token-repository.ts';
import { createTokenVerifier, type TokenLimits } from './token-verifier.ts';
import { createTokenWatch } from './watch-token.ts';

type TokensOptions = {
  database: Database;
  /** `tokenCheckInterval`: of requests that stream, in ms. */
  limits: TokenLimits & { tokenCheckInterval: number };
  /** Undefined: no tokens but the store's own. */
  identityProvider: Omit<JwtVerifierOptions, 'onRefreshFailed'> | undefined;
  /** Per number of seconds. Undefined: no limit. */
  rateLimit: { requests: number; seconds: number } | undefined;
  logger: Logger;
};

/** The stored tokens, and the middleware that checks the token of a request and counts the request. */
export const createTokens = ({ database, limits, identityProvider, rateLimit, logger }: TokensOptions) => {
  const warn = (message: string) => (error: Error) => logger.warn({ err: error }, message);
  const repository = createTokenRepository({ database });
  const onRefreshFailed = warn('could not refresh the keys of the identity provider');
  const verifyJwt = identityProvider && createJwtVerifier({ ...identityProvider, onRefreshFailed });
  const verifyToken = createTokenVerifier({ tokens: repository, limits, verifyJwt });
  const onSweepFailed = warn('could not delete the rate limit counters of ended windows');
  const requireScope = createRequireScope({
    verifyToken,
    rateLimit: rateLimit && createRateLimit({ ...rateLimit, database, limits: limits.tokens, onSweepFailed }),
  });
  const watchToken = createTokenWatch({ verifyToken, interval: limits.tokenCheckInterval });
  return { repository, requireScope, watchToken };
};
