import { hash } from 'node:crypto';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWKSCacheInput,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwksCache,
  jwtVerify,
} from 'jose';
import type { Logger } from 'pino';
import { StoreError } from '../errors.ts';
import { type CheckedToken, dateOf, SCOPES } from './token.ts';

/** Asymmetric algorithms only. With a shared secret, every verifier could also sign tokens (RFC 8725 §3.1). */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** How far the clocks of the identity provider and the service may differ, in seconds. */
const CLOCK_TOLERANCE = 5;
/** How many keys are tried for a token whose header fits several of them, to bound the work for a wrong token. */
const MAX_TRIED_KEYS = 10;
const JWT_PATTERN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export type JwtVerifierOptions = {
  /** The exact `iss` of a token. */
  issuer: string;
  /** A token's `aud` must equal or contain this. */
  audience: string;
  jwksUrl: string;
  logger: Pick<Logger, 'info' | 'warn'>;
};

/**
 * Verifies signed tokens (JWT, RFC 7519) of an identity provider: signature, issuer, audience, `exp` and `nbf` (RFC
 * 9068 §4). The scopes are in `scope` (RFC 8693 §4.2), `scp`, `permissions` or `roles`, each a string or an array.
 * @returns a function that returns undefined for any other text
 * @throws {StoreError} code 1503
 */
export const createJwtVerifier = ({ jwksUrl, logger, ...expected }: JwtVerifierOptions) => {
  const { getKey, refresh } = createRemoteKeys(jwksUrl, logger);
  const options = {
    ...expected,
    algorithms: ALGORITHMS,
    requiredClaims: ['exp', 'sub'],
    clockTolerance: CLOCK_TOLERANCE,
  };
  return async (text: string): Promise<CheckedToken | undefined> => {
    // The service's own tokens have no dots.
    if (!text.includes('.')) return undefined;
    const logRefusal = (error: Error) =>
      logger.info({ token: subjectOf(error), reason: reasonOf(error) }, 'a token of the identity provider was refused');
    const verify = () => tryKeys(text, getKey, options);
    try {
      if (!JWT_PATTERN.test(text)) throw new errors.JWTInvalid('it is not a signed JWT, which has three parts');
      const { payload } = await verify().catch(async (error) => {
        // All else about it is right, so the line of its request names it.
        if (error instanceof errors.JWTExpired) {
          logRefusal(error);
          return error;
        }
        // The key may be a new one without an id of its own.
        if (!isSignatureWrong(error) || (await refresh()) !== true) throw error;
        return verify();
      });
      const token = toToken(payload);
      if (token.scopes.length === 0) logger.info({ token: token.name, claims: show(scopeClaims(payload)) }, NO_SCOPE);
      return token;
    } catch (error) {
      if (error instanceof StoreError) throw error;
      logRefusal(error as Error);
      return undefined;
    }
  };
};

const NO_SCOPE = 'a token of the identity provider has no scope of the service';

const isSignatureWrong = (error: unknown) => error instanceof errors.JWSSignatureVerificationFailed;

/** Without a `kid`, or with one that several keys share, a key set does not tell which of its keys signed a token. */
const tryKeys = async (text: string, getKey: JWTVerifyGetKey, options: JWTVerifyOptions) => {
  try {
    return await jwtVerify(text, getKey, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      const verified = await jwtVerify(text, key, options).catch((failure) => {
        // What is no JOSEError says that the key cannot be used, for example because it is too short.
        if (failure instanceof errors.JOSEError && !isSignatureWrong(failure)) throw failure;
      });
      if (verified) return verified;
      tried += 1;
      if (tried === MAX_TRIED_KEYS) break;
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
};

/** Then the signature is right. */
const isClaimWrong = (error: Error) =>
  error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired;

const subjectOf = (error: Error): string | undefined =>
  isClaimWrong(error) && typeof error.payload.sub === 'string' ? nameOf(error.payload.sub) : undefined;

/** No part of the token but the claim at fault, and that only if its signature is right. */
const reasonOf = (error: Error): string => {
  // Its message has what `crit` of the header names.
  if (error instanceof errors.JOSENotSupported) return 'the header of the token, or the key for it, is not supported';
  const value = isClaimWrong(error) ? show(error.payload[error.claim]) : undefined;
  return value === undefined ? error.message : `${error.message}: ${value}`;
};

const show = (claims: unknown) => JSON.stringify(claims)?.slice(0, 200);

const toToken = (payload: JWTPayload): CheckedToken => {
  const { sub, exp = 0 } = payload;
  if (typeof sub !== 'string')
    throw new errors.JWTClaimValidationFailed('"sub" claim must be a string', payload, 'sub', 'invalid');
  return {
    name: nameOf(sub),
    scopes: scopesOf(Object.values(scopeClaims(payload)).flat()),
    expiresAt: dateOf((exp + CLOCK_TOLERANCE) * 1000),
    revokedAt: null,
  };
};

const scopeClaims = ({ scope, scp, permissions, roles }: JWTPayload) => ({ scope, scp, permissions, roles });

const scopesOf = (claims: unknown[]) => {
  const granted = claims.flatMap((claim) => (typeof claim === 'string' ? claim.split(' ') : []));
  return SCOPES.filter((name) => granted.includes(name));
};

/**
 * Names of other tokens contain no colon. If the subject is long or has unusual characters, its hash is logged instead.
 */
const nameOf = (sub: string) =>
  /^[\w.@:|/+=-]{1,128}$/.test(sub) ? `jwt:${sub}` : `jwt:#${hash('sha256', sub, 'base64url')}`;

/** The age, in ms, from which keys are refreshed in the background, so that a withdrawn key does not stay valid. */
const REFRESH_AGE = 300_000;
/** How long keys are used while the provider is unreachable, in ms. */
const MAX_AGE = 86_400_000;
/** The minimum time between fetches that unknown key ids cause, in ms. */
const COOLDOWN = 30_000;
/** The minimum time between fetches, in ms. If a fetch failed, requests fail immediately until then. */
const FETCH_INTERVAL = 5000;
/** How long the provider may take to respond, in ms. */
const FETCH_TIMEOUT = 3000;
/** The maximum size of the keys, in bytes. Those of large providers have a few KiB. */
const MAX_SIZE = 1_048_576;

/**
 * The public keys of an identity provider (RFC 7517 §5), fetched when they are first needed. A key is selected by the
 * `kid` and `alg` of the token's header only. If a refresh fails, the current keys stay in use.
 * @throws {StoreError} code 1503
 */
const createRemoteKeys = (url: string, logger: Pick<Logger, 'warn'>) => {
  const cache: JWKSCacheInput = {};
  // The query may contain a key, and so may a URL that the provider redirects to.
  const shownUrl = new URL(url).origin + new URL(url).pathname;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  // Here and below: the clock may have been set back.
  const mayFetch = () => Math.abs(Date.now() - fetchedAt) >= FETCH_INTERVAL;
  const keys = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: MAX_AGE,
    cooldownDuration: COOLDOWN,
    timeoutDuration: FETCH_TIMEOUT,
    [jwksCache]: cache,
    [customFetch]: async (target, options) => {
      if (!mayFetch()) throw new Error(`the last request to ${shownUrl} was less than ${FETCH_INTERVAL} ms ago`);
      fetchedAt = Date.now();
      return readUpTo(MAX_SIZE, await fetch(target, options), shownUrl);
    },
  });
  const isOld = () => 'uat' in cache && Math.abs(Date.now() - cache.uat) >= REFRESH_AGE;
  const getKey: JWTVerifyGetKey = async (header, token) => {
    if (isOld() && mayFetch()) void reload();
    try {
      return await keys(header, token);
    } catch (error) {
      if (isTokensFault(error)) throw error;
      const cause = new Error(`no usable keys at ${shownUrl}`, { cause: error });
      throw new StoreError('identityProviderUnreachable', undefined, { cause });
    }
  };
  let refreshing: Promise<boolean> | undefined;
  const reload = async () => {
    const error = await keys.reload().catch((error: Error) => error);
    refreshing = undefined;
    if (error) logger.warn({ err: error }, 'could not refresh the keys of the identity provider');
    return !error;
  };
  return {
    getKey,
    /** Fetches the keys again, as for an unknown key id, once for all that ask meanwhile. @returns true if there is a newer set now */
    refresh: async () => {
      if (!keys.coolingDown && mayFetch()) refreshing ??= reload();
      return refreshing;
    },
  };
};

/** Reads a response whole. The timeout of its request applies. @throws {Error} its status is not 200, or it is too large */
const readUpTo = async (limit: number, { body, status }: Response, shownUrl: string): Promise<Response> => {
  if (status !== 200) {
    await body?.cancel();
    throw new Error(`the status of ${shownUrl} is ${status}, not 200`);
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop closes the connection.
  for await (const piece of body ?? []) {
    size += piece.length;
    if (size > limit) throw new Error(`the response of ${shownUrl} has more than ${limit} bytes`);
    pieces.push(piece);
  }
  return new Response(Buffer.concat(pieces));
};

const isTokensFault = (error: unknown) =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;
