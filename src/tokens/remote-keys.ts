import { createRemoteJWKSet, customFetch, errors, type JWKSCacheInput, type JWTVerifyGetKey, jwksCache } from 'jose';

/** From this age on, in ms, keys are fetched anew beside the request that uses them: a key that is withdrawn lives no longer. */
const REFRESH_AGE = 300_000;
/** For how long keys are used while the provider cannot be reached, in ms. */
const MAX_AGE = 86_400_000;
/** A key id that is not known lets the keys be fetched no more often than this, in ms. */
const COOLDOWN = 30_000;
/** A provider that fails is asked no more often than this, in ms; meanwhile requests fail at once. */
const FETCH_INTERVAL = 5000;
/** How long the provider may take to answer, in ms. */
const FETCH_TIMEOUT = 3000;

/** The identity provider does not give its keys, or none that can be used. */
export class IdentityProviderError extends Error {
  override name = 'IdentityProviderError';
}

type RemoteKeysOptions = {
  url: string;
  /** Told of a fetch that failed while the keys at hand could still be used. */
  onRefreshFailed: (error: Error) => void;
};

/**
 * The public keys of an identity provider (RFC 7517 §5), by the `kid` and `alg` of a token's header; nothing else in the
 * header counts. They are fetched when they are first needed.
 * @throws {IdentityProviderError}
 */
export const createRemoteKeys = ({ url, onRefreshFailed }: RemoteKeysOptions): JWTVerifyGetKey => {
  const cache: JWKSCacheInput = {};
  let fetchedAt = Number.NEGATIVE_INFINITY;
  // The clock may have been set back.
  const mayFetch = () => Math.abs(Date.now() - fetchedAt) >= FETCH_INTERVAL;
  const keys = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: MAX_AGE,
    cooldownDuration: COOLDOWN,
    timeoutDuration: FETCH_TIMEOUT,
    [jwksCache]: cache,
    [customFetch]: (target, options) => {
      if (!mayFetch()) throw new Error(`${target} was asked in vain less than ${FETCH_INTERVAL} ms ago`);
      fetchedAt = Date.now();
      return fetch(target, options);
    },
  });
  const isOld = () => 'uat' in cache && Date.now() >= cache.uat + REFRESH_AGE;
  return async (header, token) => {
    if (isOld() && mayFetch()) keys.reload().catch(onRefreshFailed);
    try {
      return await keys(header, token);
    } catch (error) {
      if (isTokensFault(error)) throw error;
      throw new IdentityProviderError(`no usable keys at ${url}`, { cause: error });
    }
  };
};

const isTokensFault = (error: unknown) =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;
