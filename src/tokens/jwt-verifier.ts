import { errors, type JWTPayload, jwtVerify } from 'jose';
import { StoreError } from '../store-error.ts';
import { createRemoteKeys, identityProviderUnreachable } from './remote-keys.ts';
import { type CheckedToken, hashTokenText, SCOPES } from './token.ts';

/** Asymmetric algorithms only. With a shared secret, every verifier could also sign tokens (RFC 8725 §3.1). */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** How far the clocks of the identity provider and the service may differ, in seconds. */
const CLOCK_TOLERANCE = 5;
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
 * @returns a function that returns undefined for any other text
 * @throws {StoreError} code 1503
 */
export const createJwtVerifier = ({ jwksUrl, onRefreshFailed, ...expected }: JwtVerifierOptions) => {
  const getKey = createRemoteKeys({ url: jwksUrl, onRefreshFailed });
  const options = {
    ...expected,
    algorithms: ALGORITHMS,
    requiredClaims: ['exp', 'sub'],
    clockTolerance: CLOCK_TOLERANCE,
  };
  return async (text: string): Promise<CheckedToken | undefined> => {
    if (!JWT_PATTERN.test(text)) return undefined;
    try {
      return toToken((await jwtVerify(text, getKey, options)).payload);
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      if (error instanceof StoreError) throw error;
      throw identityProviderUnreachable('the key of a token cannot be used', error);
    }
  };
};

const toToken = ({ sub, exp = 0, ...claims }: JWTPayload): CheckedToken | undefined =>
  typeof sub === 'string'
    ? {
        name: nameOf(sub),
        scopes: scopesOf(claims),
        expiresAt: new Date((exp + CLOCK_TOLERANCE) * 1000),
        revokedAt: null,
      }
    : undefined;

const scopesOf = ({ scope }: JWTPayload) => {
  const granted = typeof scope === 'string' ? scope.split(' ') : [];
  return SCOPES.filter((name) => granted.includes(name));
};

/**
 * Names of other tokens contain no colon. If the subject is long or has unusual characters, its hash is logged instead.
 */
const nameOf = (sub: string) =>
  /^[\w.@:|/+=-]{1,128}$/.test(sub) ? `jwt:${sub}` : `jwt:#${hashTokenText(sub).toString('base64url')}`;
