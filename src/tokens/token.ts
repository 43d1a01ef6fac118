import { hash, randomBytes } from 'node:crypto';

export const SCOPES = ['plants:read', 'plants:write'] as const;
export type Scope = (typeof SCOPES)[number];

/** What the store keeps of an access token: everything but its text. */
export type Token = {
  name: string;
  /** The SHA-256 of the token's text. */
  hash: Uint8Array;
  scopes: string[];
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
};

/** What a request may do, and in whose name, by the token that it carries. */
export type VerifiedToken = Pick<Token, 'name' | 'scopes'>;

/** A new token's text: `plant_` and 256 random bits in base64url. */
export const generateTokenText = (): string => `plant_${randomBytes(32).toString('base64url')}`;

/** SHA-256 is enough, without salt or stretching, as there is nothing to guess in 256 random bits. */
export const hashTokenText = (text: string): Buffer<ArrayBuffer> =>
  // By way of text: memory of its own for each Buffer costs Node.js four times what the hash itself does.
  Buffer.from(hash('sha256', text, 'latin1'), 'latin1');

export type TokenState = 'valid' | 'revoked' | 'expired';

export const tokenState = (token: Pick<Token, 'revokedAt' | 'expiresAt'>, now = Date.now()): TokenState => {
  if (token.revokedAt !== null) return 'revoked';
  return token.expiresAt !== null && token.expiresAt.getTime() <= now ? 'expired' : 'valid';
};
