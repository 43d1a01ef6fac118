import { createRemoteJWKSet, customFetch, errors, type JWKSCacheInput, type JWTVerifyGetKey, jwksCache } from 'jose';
import { StoreError } from '../store-error.ts';

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

/** The identity provider is unreachable or has no usable keys. @param reason for the log */
export const identityProviderUnreachable = (reason: string, cause: unknown) =>
  new StoreError('identityProviderUnreachable', undefined, { cause: new Error(reason, { cause }) });

type RemoteKeysOptions = { url: string; onRefreshFailed: (error: Error) => void };

/**
 * The public keys of an identity provider (RFC 7517 §5), fetched when they are first needed. A key is selected by the
 * `kid` and `alg` of the token's header only. If a refresh fails, the current keys stay in use.
 * @throws {StoreError} code 1503
 */
export const createRemoteKeys = ({ url, onRefreshFailed }: RemoteKeysOptions): JWTVerifyGetKey => {
  const cache: JWKSCacheInput = {};
  // The query may contain a key, and so may a URL that the provider redirects to.
  const shownUrl = new URL(url).origin + new URL(url).pathname;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  // The clock may have been set back.
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
  const isOld = () => 'uat' in cache && Date.now() >= cache.uat + REFRESH_AGE;
  return async (header, token) => {
    if (isOld() && mayFetch()) keys.reload().catch(onRefreshFailed);
    try {
      return await keys(header, token);
    } catch (error) {
      if (isTokensFault(error)) throw error;
      throw identityProviderUnreachable(`no usable keys at ${shownUrl}`, error);
    }
  };
};

/** Reads a response whole. The timeout of its request applies. @throws {Error} it is too large */
const readUpTo = async (limit: number, { body, status, headers }: Response, shownUrl: string): Promise<Response> => {
  const pieces: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop closes the connection.
  for await (const piece of body ?? []) {
    size += piece.length;
    if (size > limit) throw new Error(`the response of ${shownUrl} has more than ${limit} bytes`);
    pieces.push(piece);
  }
  return new Response(Buffer.concat(pieces), { status, headers });
};

const isTokensFault = (error: unknown) =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;
