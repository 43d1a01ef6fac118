import type { Database } from '../database/database.ts';
import { isUniqueViolation } from '../database/database-error.ts';
import { generateTokenText, hashTokenText, type Scope, type Token } from './token.ts';

/** A token of this name was made before. */
export class TokenNameTakenError extends Error {
  override name = 'TokenNameTakenError';
}

type NewToken = {
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
  /** From `generateTokenText`, which is the default. */
  text?: string;
};

export const createTokenRepository = ({ database }: { database: Database }) => ({
  /**
   * @returns the token's text, which is kept nowhere
   * @throws {TokenNameTakenError}
   */
  create: async ({ name, scopes, expiresAt, text = generateTokenText() }: NewToken): Promise<string> => {
    try {
      await database.token.create({ data: { name, hash: hashTokenText(text), scopes: [...scopes], expiresAt } });
    } catch (error) {
      if (isUniqueViolation(error)) throw new TokenNameTakenError(`A token named "${name}" was made before.`);
      throw error;
    }
    return text;
  },
  findByHash: (hash: Uint8Array<ArrayBuffer>): Promise<Token | null> => database.token.findUnique({ where: { hash } }),
  list: (): Promise<Token[]> => database.token.findMany({ orderBy: { createdAt: 'asc' } }),
  /** Leaves no trace of a token that nobody was given; one that was given is revoked instead. */
  delete: async (text: string): Promise<void> => {
    await database.token.deleteMany({ where: { hash: hashTokenText(text) } });
  },
  /** @returns whether there is a token of this name; one that is revoked already stays as it is */
  revoke: async (name: string): Promise<boolean> => {
    const { count } = await database.token.updateMany({
      where: { name, revokedAt: null },
      data: { revokedAt: new Date() },
    });
    return count > 0 || (await database.token.count({ where: { name } })) > 0;
  },
});

export type TokenRepository = ReturnType<typeof createTokenRepository>;
