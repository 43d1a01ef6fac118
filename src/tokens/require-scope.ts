import type { Request, RequestHandler } from 'express';
import { ApiError } from '../http/api-error.ts';
import { clientAddress } from '../limits/client-address.ts';
import type { FailedTokens } from '../limits/failed-tokens.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { Scope } from './token.ts';
import type { TokenVerifier } from './token-verifier.ts';

/** RFC 6750 §3. */
const challenge = (error?: string, scopes: readonly Scope[] = []) => ({
  'WWW-Authenticate': [
    'Bearer realm="plants"',
    ...(error ? [`error="${error}"`] : []),
    ...(scopes.length > 0 ? [`scope="${scopes.join(' ')}"`] : []),
  ].join(', '),
});

type RequireScopeOptions = {
  verifier: TokenVerifier;
  failedTokens: FailedTokens;
  /** Undefined: there is no limit. */
  rateLimit: RateLimit | undefined;
};

/**
 * Lets a request pass that carries a valid token with all of the scopes (RFC 6750 §2.1), and notes whose it is. A request is
 * counted once, for the token's name, or for the client's address where there is no good token.
 */
export const createRequireScope =
  ({ verifier, failedTokens, rateLimit }: RequireScopeOptions) =>
  (...scopes: Scope[]): RequestHandler =>
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
    const missing = scopes.filter((scope) => !token.scopes.includes(scope));
    if (missing.length > 0) throw scopeMissing(missing, scopes);
    next();
  };

const bearerToken = (request: Request): string | undefined =>
  /^Bearer +(\S.*)$/i.exec(request.headers.authorization ?? '')?.[1]?.trimEnd();

/** The header names all scopes that the operation requires (RFC 6750 §3.1), the message those that the token lacks. */
const scopeMissing = (missing: Scope[], required: Scope[]) =>
  new ApiError('scopeMissing', `The token lacks the scope ${missing.join(' and ')}.`, {
    headers: challenge('insufficient_scope', required),
  });

const tokenMissing = () =>
  new ApiError('tokenMissing', 'A token is required: Authorization: Bearer <ACCESS_TOKEN>.', { headers: challenge() });

const tokenNotValid = () =>
  new ApiError('tokenNotValid', 'The token is wrong, expired or revoked.', { headers: challenge('invalid_token') });
