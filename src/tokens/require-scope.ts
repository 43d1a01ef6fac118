import type { RequestHandler } from 'express';
import { ApiError } from '../http/api-error.ts';
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

/** Lets a request pass that carries a valid token with the scope (RFC 6750 §2.1), and notes whose it is. */
export const createRequireScope =
  ({ verifier }: { verifier: TokenVerifier }) =>
  (scope: Scope): RequestHandler =>
  async (request, response, next) => {
    const text = /^Bearer +(\S.*)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (text === undefined) {
      throw new ApiError('tokenMissing', 'A token is required: Authorization: Bearer <ACCESS_TOKEN>.', {
        headers: challenge(),
      });
    }
    const token = await verifier.verify(text.trimEnd());
    if (token === undefined) {
      throw new ApiError('tokenNotValid', 'The token is wrong, expired or revoked.', {
        headers: challenge('invalid_token'),
      });
    }
    response.locals.tokenName = token.name;
    if (!token.scopes.includes(scope)) {
      throw new ApiError('scopeMissing', `The token lacks the scope ${scope}.`, {
        headers: challenge('insufficient_scope', scope),
      });
    }
    next();
  };
