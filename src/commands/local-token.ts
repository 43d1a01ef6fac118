import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { hashTokenText, SCOPES, tokenState } from '../tokens/token.ts';
import { withTokens } from './with-tokens.ts';

/**
 * The token of this machine, for who tries the store out: made at the first start and kept, readable to its owner
 * alone, in the data folder.
 * @returns its text, or undefined where it was revoked or has expired: a restart does not make another
 */
export const ensureLocalToken = (databaseUrl: string, dataFolder: string): Promise<string | undefined> =>
  withTokens(databaseUrl, async (tokens) => {
    const file = join(dataFolder, 'access-token');
    const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
    const token = kept && (await tokens.findByHash(hashTokenText(kept)));
    if (token) return tokenState(token) === 'valid' ? kept : undefined;
    // The file is gone, or is that of another database: what it stood for is of no use to anyone.
    const name = `local-${hostname()}-${randomBytes(4).toString('hex')}`;
    const text = await tokens.create({ name, scopes: SCOPES, expiresAt: null });
    mkdirSync(dataFolder, { recursive: true });
    writeFileSync(file, `${text}\n`, { mode: 0o600 });
    return text;
  });
