import type { Database } from '../database/database.ts';
import { isUniqueViolation } from '../database/database-error.ts';
import { OperationalError } from '../operational-error.ts';
import { generateTokenText, hashTokenText, type Scope, type Token } from './token.ts';

type NewToken = Pick<Token, 'name' | 'expiresAt'> & { scopes: readonly Scope[]; text?: string };

export const createTokenRepository = ({ database }: { database: Database }) => {
  // Not `findUnique`: Prisma batches concurrent calls, and PostgreSQL would prepare a statement for each batch size.
  const findByHashes = (hashes: Uint8Array<ArrayBuffer>[]): Promise<Token[]> =>
    database.$queryRaw<Token[]>`
      SELECT name, hash, scopes, created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt"
      FROM tokens WHERE hash = ANY(${hashes}::bytea[])`;
  return {
    /**
     * @returns the token's text, which is not stored
     * @throws {OperationalError} a token with this name already exists, possibly revoked
     */
    create: async ({ name, scopes, expiresAt, text = generateTokenText() }: NewToken): Promise<string> => {
      try {
        await database.token.create({ data: { name, hash: hashTokenText(text), scopes: [...scopes], expiresAt } });
      } catch (error) {
        if (isUniqueViolation(error)) throw new OperationalError(`A token named "${name}" already exists.`);
        throw error;
      }
      return text;
    },
    /** @returns the existing tokens, in any order */
    findByHashes,
    findByHash: async (hash: Uint8Array<ArrayBuffer>): Promise<Token | null> => (await findByHashes([hash]))[0] ?? null,
    list: (): Promise<Token[]> => database.token.findMany({ orderBy: { createdAt: 'asc' } }),
    /** Only for a token that was never given to anyone. Otherwise use `revoke`. */
    delete: async (text: string): Promise<void> => {
      await database.token.deleteMany({ where: { hash: hashTokenText(text) } });
    },
    /** Does not change a token that is already revoked. @returns whether a token with this name exists */
    revoke: async (name: string): Promise<boolean> => {
      const { count } = await database.token.updateMany({
        where: { name, revokedAt: null },
        data: { revokedAt: new Date() },
      });
      return count > 0 || (await database.token.count({ where: { name } })) > 0;
    },
  };
};

export type TokenRepository = ReturnType<typeof createTokenRepository>;
