import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { generateTokenText, hashTokenText, SCOPES, tokenState } from '../tokens/token.ts';
import { withTokens } from './with-tokens.ts';

/**
 * The token of this machine, for who tries the store out: made at the first start and kept, readable to its owner
 * alone, in the data folder.
 * @returns its text, or undefined where it was revoked or has expired: a restart does not make another
 * @throws {LocalTokenError} where its file cannot be written; then no token is made
 */
export const ensureLocalToken = (databaseUrl: string, dataFolder: string): Promise<string | undefined> =>
  withTokens(databaseUrl, async (tokens) => {
    const file = join(dataFolder, 'access-token');
    const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
    const token = kept && (await tokens.findByHash(hashTokenText(kept)));
    if (token) return tokenState(token) === 'valid' ? kept : undefined;
    // The file is gone, or is that of another database: what it stood for is of no use to anyone.
    const name = `local-${hostname()}-${randomBytes(4).toString('hex')}`;
    const text = generateTokenText();
    // The file first: a token that is stored without it would be one more with each start.
    writeTokenFile(file, text);
    await tokens.create({ name, scopes: SCOPES, expiresAt: null, text });
    return text;
  });

const writeTokenFile = (file: string, text: string) => {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${text}\n`, { mode: 0o600 });
  } catch (error) {
    throw new LocalTokenError(
      `The access token of this machine cannot be kept: ${(error as Error).message}. ` +
        'Set DATA_DIR to a folder that this user may write to.',
    );
  }
};

/** The token of this machine cannot be written to its file. */
export class LocalTokenError extends Error {
  override name = 'LocalTokenError';
}
