import type { Database } from '../database/database.ts';
import { isUniqueViolation } from '../database/database-error.ts';
import { OperationalError } from '../errors.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { dateOf, generateTokenText, hashTokenText, type Scope, type Token } from './token.ts';

type NewToken = Pick<Token, 'name' | 'expiresAt'> & { scopes: readonly Scope[]; text?: string };

/** A row as `COLUMNS` reads it: times as text. */
type Row = Omit<Token, 'createdAt' | 'expiresAt' | 'revokedAt' | 'lastUsedAt'> &
  Record<'createdAt', string> &
  Record<'expiresAt' | 'revokedAt' | 'lastUsedAt', string | null>;

/**
 * A time in ms since 1970, as the text of a `numeric`. Prisma's adapter drops the offset of a `timestamptz` when it reads and
 * sends none when it writes, and a `float8` depends on `extra_float_digits`. No setting of a session changes this text. (In
 * parentheses, or traces would take the column for a table.)
 */
const epoch = (column: string) => Prisma.raw(`(extract(epoch FROM (${column})) * 1000)::text`);

const HOUR = Prisma.raw("date_trunc('hour', now(), 'UTC')");

const columns = (hash: string, expiresAt: string) => Prisma.sql`
  name, encode(${Prisma.raw(hash)}, 'hex') AS hash, scopes,
  ${epoch('created_at')} AS "createdAt", ${epoch(expiresAt)} AS "expiresAt", ${epoch('revoked_at')} AS "revokedAt",
  ${epoch('last_used_at')} AS "lastUsedAt", last_used_at IS NOT DISTINCT FROM ${HOUR} AS "isUseNoted"`;

const CURRENT = columns('hash', 'expires_at');
const PREVIOUS = columns('previous_hash', 'least(expires_at, previous_expires_at)');

export const createTokenRepository = ({ database }: { database: Database }) => {
  const findByHashes = async (hashes: string[]): Promise<Token[]> => {
    const bytes = hashes.map((hash) => Buffer.from(hash, 'hex'));
    const rows = await database.$queryRaw<Row[]>`
      SELECT ${CURRENT} FROM tokens WHERE hash = ANY(${bytes}::bytea[])
      UNION ALL SELECT ${PREVIOUS} FROM tokens WHERE previous_hash = ANY(${bytes}::bytea[])`;
    return rows.map(toToken);
  };
  const exists = async (name: string) =>
    (await database.$queryRaw<unknown[]>`SELECT 1 FROM tokens WHERE name = ${name}`).length > 0;
  return {
    /**
     * @returns the token's text, which is not stored
     * @throws {OperationalError} a token with this name already exists, possibly revoked
     */
    create: async ({ name, scopes, expiresAt, text = generateTokenText() }: NewToken): Promise<string> => {
      try {
        await database.$executeRaw`
          INSERT INTO tokens (name, hash, scopes, created_at, expires_at)
          VALUES (${name}, decode(${hashTokenText(text)}, 'hex'), ${scopes}::text[], now(),
            to_timestamp(${expiresAt?.getTime() ?? null}::float8 / 1000))`;
      } catch (error) {
        if (isUniqueViolation(error)) throw new OperationalError(`A token named "${name}" already exists.`);
        throw error;
      }
      return text;
    },
    /** @returns the existing tokens, in any order */
    findByHashes,
    findByHash: async (hash: string): Promise<Token | null> => (await findByHashes([hash]))[0] ?? null,
    list: async (): Promise<Token[]> =>
      (await database.$queryRaw<Row[]>`SELECT ${CURRENT} FROM tokens ORDER BY created_at, name`).map(toToken),
    /** Only for a token that was never given to anyone. Otherwise use `revoke`. */
    undoCreate: async (text: string): Promise<void> => {
      await database.$executeRaw`DELETE FROM tokens WHERE hash = decode(${hashTokenText(text)}, 'hex')`;
    },
    /**
     * Gives a token another text. The one before is valid for another `overlap` ms; one from before that no longer.
     * @returns the text, which is not stored; undefined if there is no such token, or it is not valid
     */
    rotate: async (name: string, overlap: number): Promise<string | undefined> => {
      const text = generateTokenText();
      const count = await database.$executeRaw`
        UPDATE tokens SET hash = decode(${hashTokenText(text)}, 'hex'), previous_hash = hash,
          previous_expires_at = now() + ${overlap}::float8 * interval '1 millisecond'
        WHERE name = ${name} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`;
      return count > 0 ? text : undefined;
    },
    /** Only for a text that was never given to anyone. */
    undoRotate: async (text: string): Promise<void> => {
      await database.$executeRaw`
        UPDATE tokens SET hash = previous_hash, previous_hash = NULL, previous_expires_at = NULL
        WHERE hash = decode(${hashTokenText(text)}, 'hex')`;
    },
    exists,
    /** Deletes a revoked token, so that its name is free. @returns whether there was one */
    delete: async (name: string): Promise<boolean> =>
      (await database.$executeRaw`DELETE FROM tokens WHERE name = ${name} AND revoked_at IS NOT NULL`) > 0,
    /** Notes that the token is used in this hour. */
    noteUse: async (name: string): Promise<void> => {
      await database.$executeRaw`
        UPDATE tokens SET last_used_at = ${HOUR} WHERE name = ${name} AND last_used_at IS DISTINCT FROM ${HOUR}`;
    },
    /** Does not change a token that is already revoked. @returns whether a token with this name exists */
    revoke: async (name: string): Promise<boolean> => {
      const count = await database.$executeRaw`
        UPDATE tokens SET revoked_at = now() WHERE name = ${name} AND revoked_at IS NULL`;
      return count > 0 || exists(name);
    },
  };
};

export type TokenRepository = ReturnType<typeof createTokenRepository>;

const toToken = ({ createdAt, expiresAt, revokedAt, lastUsedAt, ...token }: Row): Token => ({
  ...token,
  createdAt: toDate(createdAt),
  // An operator may write 'infinity': the token never expires.
  expiresAt: expiresAt === null || expiresAt === 'Infinity' ? null : toDate(expiresAt),
  revokedAt: revokedAt === null ? null : toDate(revokedAt),
  lastUsedAt: lastUsedAt === null ? null : toDate(lastUsedAt),
});

const toDate = (epoch: string) => dateOf(Number(epoch));
