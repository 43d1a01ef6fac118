import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { OperationalError } from '../operational-error.ts';
import { readSecretFile, writeSecretFile } from '../secret-file.ts';
import { generateTokenText, hashTokenText, SCOPES, tokenState } from '../tokens/token.ts';
import { withTokens } from './with-database.ts';

/**
 * The access token of this machine, to try the service with. The first start creates it and keeps it in the data
 * folder, readable only by its owner.
 * @returns its text, or undefined if it was revoked or has expired, in which case it is not replaced
 * @throws {OperationalError} if its file cannot be written, in which case no token is created
 */
export const ensureLocalToken = (databaseUrl: string, dataFolder: string): Promise<string | undefined> =>
  withTokens(databaseUrl, async (tokens) => {
    const file = join(dataFolder, 'access-token');
    const kept = existsSync(file) ? readSecretFile(file).trim() : undefined;
    const token = kept && (await tokens.findByHash(hashTokenText(kept)));
    if (token) return tokenState(token) === 'valid' ? kept : undefined;
    // The file is missing or belongs to another database.
    const name = `local-${hostname()}-${randomBytes(4).toString('hex')}`;
    const text = generateTokenText();
    // The file first, so that failing starts do not pile up tokens in the database.
    try {
      mkdirSync(dataFolder, { recursive: true });
      writeSecretFile(file, `${text}\n`);
    } catch (error) {
      throw new OperationalError(
        `The access token of this machine cannot be saved: ${(error as Error).message}. ` +
          'Set DATA_DIR to a folder that this user can write to.',
      );
    }
    await tokens.create({ name, scopes: SCOPES, expiresAt: null, text });
    return text;
  });
