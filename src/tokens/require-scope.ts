import type { Request, RequestHandler } from 'express';
import { ApiError } from '../http/api-error.ts';
import { clientAddress } from '../limits/client-address.ts';
import type { FailedTokens } from '../limits/failed-tokens.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { Scope } from './token.ts';
import type { TokenVerifier } from './token-verifier.ts';

/** RFC 6750 §3. */
const challenge = (error?: string, scope?: Scope) => ({
  'WWW-Authenticate': [
    'Bearer realm="plants"',
    ...(error ? [`error="${error}"`] : []),
    ...(scope ? [`scope="${scope}"`] : []),
  ].join(', '),
});

type RequireScopeOptions = {
  verifier: TokenVerifier;
  failedTokens: FailedTokens;
  /** Undefined: there is no limit. */
  rateLimit: RateLimit | undefined;
};

/**
 * Lets a request pass that carries a valid token with the scope (RFC 6750 §2.1), and notes whose it is. Requests are
 * counted for the token's name, or for the client's address where there is no good token.
 */
export const createRequireScope =
  ({ verifier, failedTokens, rateLimit }: RequireScopeOptions) =>
  (scope: Scope): RequestHandler =>
  async (request, response, next) => {
    const text = bearerToken(request);
    const token = text === undefined ? undefined : await verifier.verify(text);
    if (token === undefined) {
      const address = clientAddress(request);
      if (text !== undefined) failedTokens.count(address, challenge('invalid_token'));
      if (rateLimit) await rateLimit(`address:${address}`, response);
      throw text === undefined ? tokenMissing() : tokenNotValid();
    }
    response.locals.tokenName = token.name;
    if (rateLimit) await rateLimit(`token:${token.name}`, response);
    if (!token.scopes.includes(scope)) {
      throw new ApiError('scopeMissing', `The token lacks the scope ${scope}.`, {
        headers: challenge('insufficient_scope', scope),
      });
    }
    next();
  };

const bearerToken = (request: Request): string | undefined =>
  /^Bearer +(\S.*)$/i.exec(request.headers.authorization ?? '')?.[1]?.trimEnd();

const tokenMissing = () =>
  new ApiError('tokenMissing', 'A token is required: Authorization: Bearer <ACCESS_TOKEN>.', { headers: challenge() });

const tokenNotValid = () =>
  new ApiError('tokenNotValid', 'The token is wrong, expired or revoked.', { headers: challenge('invalid_token') });
