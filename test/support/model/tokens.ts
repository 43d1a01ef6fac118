import { createHash, randomBytes } from 'node:crypto';
import type { TestDatabase } from '../test-database.ts';
import { waitUntil } from '../wait-until.ts';
import type { Clock } from './clock.ts';

/** `mortal` may be revoked, `brief` expires, `unknown` was never created, `none`: no token is sent. */
export const TOKEN_NAMES = ['full', 'mortal', 'other', 'brief', 'reader', 'writer', 'unknown', 'none'] as const;
export type TokenName = (typeof TOKEN_NAMES)[number];

/** Whether the store must accept a token, must refuse it, or may do either. */
export type Verdict = 'accepted' | 'refused' | 'either';

export const scopesOf = (name: TokenName): readonly string[] => {
  if (name === 'reader') return ['plants:read'];
  return name === 'writer' ? ['plants:write'] : ['plants:read', 'plants:write'];
};

/** How long `brief` is valid, in ms. */
const BRIEF = 40;
/** Between the clocks of the test and the store, in ms. */
const CLOCK_TOLERANCE = 2;
/** How long a store that knows a token may accept it after its revocation, in ms (docs/reference/authentication.md). */
export const REVOCATION_DELAY = 5000;

/** The tokens of one sequence. They have new texts, so that no instance has seen them. */
export const createTokens = async ({ query }: TestDatabase, clock: Clock) => {
  const texts = new Map(TOKEN_NAMES.map((name) => [name, `plant_${randomBytes(32).toString('base64url')}`]));
  const insert = (name: TokenName, expiresAt: number | null) =>
    query('INSERT INTO tokens (name, hash, scopes, expires_at) VALUES ($1, $2, $3, $4)', [
      name,
      createHash('sha256')
        .update(`${texts.get(name)}`)
        .digest(),
      scopesOf(name),
      expiresAt === null ? null : new Date(expiresAt),
    ]);
  const isPermanent = (name: TokenName) => !['brief', 'unknown', 'none'].includes(name);
  await query('DELETE FROM tokens');
  for (const name of TOKEN_NAMES.filter(isPermanent)) await insert(name, null);

  const usedAt = new Set<number>();
  let revokedAt: number | undefined;
  let briefExpiresAt: number | undefined;

  const mortalVerdict = (isNewThere: boolean, sentAt: number): Verdict => {
    if (revokedAt === undefined) return 'accepted';
    return isNewThere || sentAt >= revokedAt + REVOCATION_DELAY ? 'refused' : 'either';
  };

  return {
    textOf: (name: TokenName): string | undefined => (name === 'none' ? undefined : texts.get(name)),
    /** Call it before a request is sent. @returns a function to be called after the response */
    use: async (name: TokenName, instance: number): Promise<() => Verdict> => {
      if (name === 'unknown' || name === 'none') return () => 'refused';
      if (name === 'mortal') {
        const verdict = mortalVerdict(!usedAt.has(instance), clock.now());
        usedAt.add(instance);
        return () => verdict;
      }
      if (name !== 'brief') return () => 'accepted';
      if (briefExpiresAt === undefined) {
        briefExpiresAt = Date.now() + BRIEF;
        await insert('brief', briefExpiresAt);
      }
      const end = briefExpiresAt;
      if (Date.now() > end + CLOCK_TOLERANCE) return () => 'refused';
      return () => (Date.now() < end - CLOCK_TOLERANCE ? 'accepted' : 'either');
    },
    revoke: async () => {
      await query("UPDATE tokens SET revoked_at = now() WHERE name = 'mortal' AND revoked_at IS NULL");
      revokedAt ??= clock.now();
    },
    waitForExpiry: () => waitUntil('the token to expire', () => Date.now() > (briefExpiresAt ?? 0) + CLOCK_TOLERANCE),
  };
};

export type Tokens = Awaited<ReturnType<typeof createTokens>>;
