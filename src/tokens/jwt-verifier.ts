import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { createRemoteKeys, IdentityProviderError } from './remote-keys.ts';
import { hashTokenText, SCOPES, type VerifiedToken } from './token.ts';
import type { VerifyToken } from './token-verifier.ts';

/** Asymmetric algorithms only. With a shared secret, every verifier could also sign tokens (RFC 8725 §3.1). */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** How far the clocks of the identity provider and the service may differ, in seconds. */
const CLOCK_TOLERANCE = 5;
/** How long a verified token is cached, in ms; never past its expiry. */
const TRUST_DURATION = 4000;
const MAX_KNOWN_TOKENS = 10_000;
const JWT_PATTERN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export type JwtVerifierOptions = {
  /** The exact `iss` of a token. */
  issuer: string;
  /** A token's `aud` must equal or contain this. */
  audience: string;
  jwksUrl: string;
  onRefreshFailed: (error: Error) => void;
};

/**
 * Verifies signed tokens (JWT, RFC 7519) of an identity provider: signature, issuer, audience, `exp` and `nbf` (RFC
 * 9068 §4). `scope` contains the scopes (RFC 8693 §4.2).
 * @throws {IdentityProviderError}
 */
export const createJwtVerifier = ({ jwksUrl, onRefreshFailed, ...expected }: JwtVerifierOptions): VerifyToken => {
  const getKey = createRemoteKeys({ url: jwksUrl, onRefreshFailed });
  // ttlResolution 0 avoids timers; see token-verifier.ts.
  const known = new LRUCache<string, VerifiedToken>({ max: MAX_KNOWN_TOKENS, ttlResolution: 0 });
  const options = {
    ...expected,
    algorithms: ALGORITHMS,
    requiredClaims: ['exp', 'sub'],
    clockTolerance: CLOCK_TOLERANCE,
  };
  return async (text, again) => {
    if (!JWT_PATTERN.test(text)) return undefined;
    if (again) {
      const payload = decodeJwt(text);
      return timeLeft(payload) > 0 ? toToken(payload) : undefined;
    }
    const key = hashTokenText(text).toString('latin1');
    const knownToken = known.get(key);
    if (knownToken) return knownToken;
    try {
      const { payload } = await jwtVerify(text, getKey, options);
      if (typeof payload.sub !== 'string') return undefined;
      const token = toToken(payload);
      // A ttl of 0 would mean no expiry.
      known.set(key, token, { ttl: Math.max(1, Math.min(TRUST_DURATION, timeLeft(payload))) });
      return token;
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      if (error instanceof IdentityProviderError) throw error;
      throw new IdentityProviderError('the key of a token cannot be used', { cause: error });
    }
  };
};

const toToken = (payload: JWTPayload): VerifiedToken => ({
  name: nameOf(payload.sub ?? ''),
  scopes: scopesOf(payload),
});

/** In ms; `exp` is in seconds. */
const timeLeft = ({ exp = 0 }: JWTPayload) => (exp + CLOCK_TOLERANCE) * 1000 - Date.now();

const scopesOf = ({ scope }: JWTPayload) => {
  const granted = typeof scope === 'string' ? scope.split(' ') : [];
  return SCOPES.filter((name) => granted.includes(name));
};

/**
 * Names of other tokens contain no colon. If the subject is long or has unusual characters, its hash is logged instead.
 */
const nameOf = (sub: string) =>
  /^[\w.@:|/+=-]{1,128}$/.test(sub) ? `jwt:${sub}` : `jwt:#${hashTokenText(sub).toString('base64url')}`;
