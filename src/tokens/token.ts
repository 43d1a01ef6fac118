import { hash, randomBytes } from 'node:crypto';

export const SCOPES = ['plants:read', 'plants:write'] as const;
export type Scope = (typeof SCOPES)[number];

/** An access token as it is stored: without its text. */
export type Token = {
  name: string;
  /** The SHA-256 of the token's text, in hex. */
  hash: string;
  scopes: string[];
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** To the hour. */
  lastUsedAt: Date | null;
  /** Whether it was used in this hour. */
  isUseNoted: boolean;
};

/** A token that exists. Whether it is valid changes with time; see `tokenState`. `isUseNoted`: only of the service's own tokens. */
export type CheckedToken = Pick<Token, 'name' | 'scopes' | 'expiresAt' | 'revokedAt'> &
  Partial<Pick<Token, 'isUseNoted'>>;

/** The identity and permissions of a request, if the state is `valid`. */
export type VerifiedToken = Pick<Token, 'name' | 'scopes'> & { state: ReturnType<typeof tokenState> };

/** A new token's text: `plant_` and 256 random bits in base64url. */
export const generateTokenText = (): string => `plant_${randomBytes(32).toString('base64url')}`;

/**
 * In hex, which Node.js makes in a third of the time of a Buffer. SHA-256 without salt or stretching is enough, because 256 random
 * bits cannot be guessed.
 */
export const hashTokenText = (text: string): string => hash('sha256', text, 'hex');

/** A token whose expiry cannot be compared, such as an invalid date, has expired. */
export const tokenState = (token: Pick<Token, 'revokedAt' | 'expiresAt'>, now = Date.now()) => {
  if (token.revokedAt !== null) return 'revoked';
  return token.expiresAt === null || now < token.expiresAt.getTime() ? 'valid' : 'expired';
};

/** The largest and, negated, the smallest time of a Date, in ms since 1970. PostgreSQL and JWTs have later ones, also infinite ones. */
const MAX_TIME = 8.64e15;

/** @param time in ms since 1970 */
export const dateOf = (time: number): Date => new Date(Math.max(-MAX_TIME, Math.min(MAX_TIME, time)));
