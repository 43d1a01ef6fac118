import { ApiError, defineErrors, type ErrorCode } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';

/** The errors of requests without a valid token. */
export const tokenErrorCodes = defineErrors({
  tokenMissing: {
    code: 1100,
    status: 401,
    when: 'there is no token',
    advice: 'Send the header Authorization: Bearer <ACCESS_TOKEN>. Ask the operator of the service for a token.',
    example: 'A token is required: Authorization: Bearer <ACCESS_TOKEN>.',
  },
  tokenNotValid: {
    code: 1101,
    status: 401,
    when: 'the token is wrong, expired or revoked',
    advice: 'Use another token. Do not retry with this one.',
  },
  scopeMissing: {
    code: 1102,
    status: 403,
    when: 'the token lacks a scope',
    advice: 'Use a token with all scopes in the WWW-Authenticate header.',
    example: 'The token lacks the scope plants:write.',
  },
  identityProviderUnreachable: {
    code: 1503,
    status: 503,
    when: 'the keys that verify the token cannot be fetched from the identity provider',
    advice: 'Retry after the seconds in the Retry-After header. The token may be valid.',
    example: 'The keys that verify the token cannot be fetched from the identity provider. Try again later.',
  },
});

/** The errors of every operation that needs a token, including those of token lookups and rate limits. */
export const tokenErrors: readonly ErrorCode[] = [
  ...Object.values(tokenErrorCodes),
  commonErrors.tooManyRequests,
  commonErrors.overloaded,
  commonErrors.databaseUnreachable,
  commonErrors.databaseNotMigrated,
];

/** The identity provider is unreachable or has no usable keys. @param reason for the log */
export const identityProviderUnreachable = (reason: string, cause: unknown): ApiError =>
  new ApiError(tokenErrorCodes.identityProviderUnreachable, undefined, { cause: new Error(reason, { cause }) });
