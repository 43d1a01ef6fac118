import type { Request, RequestHandler, Response } from 'express';
import { clientDisconnected } from '../bodies/read-json-body.ts';
import { errors, StoreError } from '../errors.ts';
import { clientAddress } from '../http/client-address.ts';
import { createFailedTokens, WRONG_TOKENS } from './failed-tokens.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Scope } from './token.ts';
import type { VerifyToken } from './token-verifier.ts';

/** RFC 6750 §3. */
const challenge = (error?: string, scopes: readonly Scope[] = []) => ({
  'WWW-Authenticate': [
    'Bearer realm="plants"',
    ...(error ? [`error="${error}"`] : []),
    ...(scopes.length > 0 ? [`scope="${scopes.join(' ')}"`] : []),
  ].join(', '),
});

type RequireScopeOptions = { verifyToken: VerifyToken; rateLimit: RateLimit | undefined };

/**
 * Creates middleware that requires a valid token with all of the scopes (RFC 6750 §2.1), and stores its name for the log. The
 * rate limit counts each request once: for the token's name, or for the client's address if there is no valid token.
 */
export const createRequireScope = ({ verifyToken, rateLimit }: RequireScopeOptions) => {
  const countFailed = createFailedTokens();
  return (...scopes: Scope[]): RequestHandler =>
    async (request, response, next) => {
      const text = bearerToken(request);
      const token = text === undefined ? undefined : await verifyToken(text);
      // Also of a token that has expired or was revoked.
      if (token) response.locals.tokenName = token.name;
      if (token?.state !== 'valid') {
        const address = clientAddress(request);
        const wait = text === undefined ? undefined : countFailed(address);
        if (wait !== undefined) throw tooManyWrongTokens(wait);
        if (rateLimit) await rateLimit(`address:${address}`, response);
        throw text === undefined ? tokenMissing(request) : tokenNotValid(oddityOf(text));
      }
      if (rateLimit) await rateLimit(`token:${token.name}`, response);
      const missing = scopes.filter((scope) => !token.scopes.includes(scope));
      if (missing.length > 0) throw scopeMissing(missing, scopes);
      next();
    };
};

const bearerToken = (request: Request): string | undefined =>
  /^Bearer +(\S.*)$/i.exec(request.headers.authorization ?? '')?.[1];

/** The header lists all scopes that the operation requires (RFC 6750 §3.1); the message lists the missing ones. */
const scopeMissing = (missing: Scope[], required: Scope[]) =>
  new StoreError('scopeMissing', `The token lacks the scope ${missing.join(' and ')}.`, {
    headers: challenge('insufficient_scope', required),
  });

const tooManyWrongTokens = (wait: number) =>
  new StoreError('tooManyRequests', `Too many wrong tokens came from this address. Try again in ${wait} s.`, {
    headers: {
      ...challenge('invalid_token'),
      'Retry-After': `${wait}`,
      'RateLimit-Policy': WRONG_TOKENS,
      RateLimit: `"wrong-tokens";r=0;t=${wait}`,
    },
  });

const tokenMissing = ({ headers }: Request) => {
  const message = `${errors.tokenMissing.example}${headers.authorization ? ' The Authorization header has another form.' : ''}`;
  return new StoreError('tokenMissing', message, { headers: challenge() });
};

export const tokenNotValid = (oddity = '') =>
  new StoreError('tokenNotValid', `The token is wrong, expired or revoked.${oddity}`, {
    headers: challenge('invalid_token'),
  });

/** A common mistake in a token (RFC 6750 §2.1), without any part of the token. */
const oddityOf = (text: string): string => {
  if (/^(bearer|token)\s/i.test(text)) return ' It begins with a word, such as a second "Bearer".';
  if (/[^\w.~+/=-]/.test(text)) return ' It has characters that no token has, such as quotes, spaces or a backslash.';
  if (/^plant_/.test(text)) return text.length === 49 ? '' : ' It is cut off, or has something behind it.';
  return text.includes('.')
    ? ''
    : ' A token of the service begins with plant_; one of an identity provider has three parts with dots between them.';
};

/**
 * Watches a request that may take hours, until its response closes: whether its client is there, and whether its token is valid.
 * @param options `interval`: of checks of the token, in ms
 * @returns a function whose result is aborted once the token is revoked or expired, with code 1101, or when the response closes
 */
export const createRequestWatch =
  ({ verifyToken, interval }: { verifyToken: VerifyToken; interval: number }) =>
  (request: Request, response: Response): AbortController => {
    const ending = new AbortController();
    const text = bearerToken(request) ?? '';
    const check = () =>
      verifyToken(text, 'again').then(
        (token) => {
          if (token?.state !== 'valid') ending.abort(tokenNotValid());
        },
        // The database is unreachable, which says nothing about the token. The next check may tell.
        () => {},
      );
    const timer = setInterval(check, interval);
    const onClose = () => {
      clearInterval(timer);
      ending.abort(clientDisconnected());
    };
    response.once('close', onClose);
    if (response.destroyed) onClose();
    return ending;
  };
