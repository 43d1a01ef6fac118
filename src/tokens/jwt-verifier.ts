import { errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { createRemoteKeys, IdentityProviderError } from './remote-keys.ts';
import { hashTokenText, SCOPES, type VerifiedToken } from './token.ts';
import type { TokenVerifier } from './token-verifier.ts';

/** Signatures by private keys alone: with a shared secret, whoever checks a token could make one (RFC 8725 §3.1). */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** By how much the clocks of the provider and the store may differ, in seconds. */
const CLOCK_TOLERANCE = 5;
/** How long a token that was checked is not checked again, in ms; but never past its expiry. */
const TRUST_DURATION = 4000;
const MAX_KNOWN_TOKENS = 10_000;
const JWT_PATTERN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

type JwtVerifierOptions = {
  /** What a token's `iss` must be, to the letter. */
  issuer: string;
  /** What its `aud` must be or contain. */
  audience: string;
  jwksUrl: string;
  onRefreshFailed: (error: Error) => void;
};

/**
 * Checks the signed tokens (JWT, RFC 7519) of an identity provider, as RFC 9068 §4 has it for access tokens: signature,
 * issuer, audience, `exp`, `nbf`. What they may do is in `scope` (RFC 8693 §4.2).
 * @throws {IdentityProviderError}
 */
export const createJwtVerifier = ({ jwksUrl, onRefreshFailed, ...expected }: JwtVerifierOptions): TokenVerifier => {
  const getKey = createRemoteKeys({ url: jwksUrl, onRefreshFailed });
  // No resolution: no timers, as in token-verifier.ts.
  const known = new LRUCache<string, VerifiedToken>({ max: MAX_KNOWN_TOKENS, ttlResolution: 0 });
  const options = {
    ...expected,
    algorithms: ALGORITHMS,
    requiredClaims: ['exp', 'sub'],
    clockTolerance: CLOCK_TOLERANCE,
  };
  return {
    verify: async (text) => {
      if (!JWT_PATTERN.test(text)) return undefined;
      const key = hashTokenText(text).toString('latin1');
      const knownToken = known.get(key);
      if (knownToken) return knownToken;
      try {
        const { payload } = await jwtVerify(text, getKey, options);
        if (typeof payload.sub !== 'string') return undefined;
        const token = { name: nameOf(payload.sub), scopes: scopesOf(payload) };
        // Not 0, which means for ever.
        known.set(key, token, { ttl: Math.max(1, Math.min(TRUST_DURATION, timeLeft(payload))) });
        return token;
      } catch (error) {
        if (error instanceof errors.JOSEError) return undefined;
        if (error instanceof IdentityProviderError) throw error;
        throw new IdentityProviderError('the key of a token cannot be used', { cause: error });
      }
    },
  };
};

/** In ms; `exp` is in seconds. */
const timeLeft = ({ exp = 0 }: JWTPayload) => (exp + CLOCK_TOLERANCE) * 1000 - Date.now();

const scopesOf = ({ scope }: JWTPayload) => {
  const granted = typeof scope === 'string' ? scope.split(' ') : [];
  return SCOPES.filter((name) => granted.includes(name));
};

/** No name of a token of the store's own has a colon. A subject that is long or odd is not for a log: its hash is. */
const nameOf = (sub: string) =>
  /^[\w.@:|/+=-]{1,128}$/.test(sub) ? `jwt:${sub}` : `jwt:#${hashTokenText(sub).toString('base64url')}`;
