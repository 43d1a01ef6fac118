import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../config.ts';
import { SCOPES, type Scope, type Token, tokenState } from '../tokens/token.ts';
import { TokenNameTakenError, type TokenRepository } from '../tokens/token-repository.ts';
import { curlLine } from './announce.ts';
import { baseUrl } from './base-url.ts';
import { parseDuration } from './duration.ts';
import { leaseDatabaseToUse } from './lease-database.ts';
import { print } from './print.ts';
import { withTokens } from './with-tokens.ts';

/** A token command could not do what was asked. */
export class TokenCommandError extends Error {
  override name = 'TokenCommandError';
}

type CreateOptions = { name: string; expires?: Date; scope: Scope[]; ifNone?: true };

/** Adds `create`, `list` and `revoke`. They need the database alone, not a running store. */
export const addTokenCommands = (command: Command, config: () => Config): void => {
  command
    .command('create')
    .description('make a token and print it, alone, on standard output; it is shown this once')
    .requiredOption('--name <name>', 'whose it is; its requests are logged under this name', parseName)
    .option(
      '--expires <duration>',
      'how long it is valid, such as 12h or 30d (default: until it is revoked)',
      parseExpiry,
    )
    .addOption(new Option('--scope <scope...>', 'what it may do').choices(SCOPES).default([...SCOPES]))
    .option('--if-none', 'make it only where the store has no token yet')
    .action((options: CreateOptions) => withLeasedTokens(config(), (tokens) => createToken(tokens, options, config())));
  command
    .command('list')
    .description('list the tokens, without their text, which is kept nowhere')
    .option('--json', 'as one JSON array')
    .action(({ json }: { json?: true }) =>
      withLeasedTokens(config(), async (tokens) => printTokens(await tokens.list(), json)),
    );
  command
    .command('revoke')
    .description('refuse a token from now on; running stores know within 5 seconds')
    .argument('<name>')
    .action((name: string) =>
      withLeasedTokens(config(), async (tokens) => {
        if (!(await tokens.revoke(name))) throw new TokenCommandError(`There is no token named "${name}".`);
        process.stderr.write(`Revoked "${name}".\n`);
      }),
    );
};

const withLeasedTokens = async (config: Config, use: (tokens: TokenRepository) => Promise<void>) => {
  const lease = await leaseDatabaseToUse(config);
  await withTokens(lease.url, use).finally(lease.release);
};

const createToken = async (tokens: TokenRepository, options: CreateOptions, config: Config) => {
  const { name, expires: expiresAt = null, scope: scopes } = options;
  if (options.ifNone && (await tokens.list()).length > 0) {
    process.stderr.write('The store has a token already; none was made.\n');
    return;
  }
  const text = await tokens.create({ name, scopes, expiresAt }).catch((error) => {
    throw error instanceof TokenNameTakenError ? new TokenCommandError(error.message) : error;
  });
  await printOrDelete(tokens, text);
  process.stderr.write(`Keep it: it is not shown again. To store a plant:\n${curlLine(baseUrl(config), text)}\n`);
};

/** Stored before it is printed: whatever ends the process in between, a token that somebody has is one that works. */
const printOrDelete = async (tokens: TokenRepository, text: string) => {
  try {
    await print(`${text}\n`);
  } catch (error) {
    await tokens.delete(text);
    const cause = (error as Error).cause as Error;
    throw new TokenCommandError(`The token could not be printed and was deleted: ${cause.message}`, { cause });
  }
};

const printTokens = (tokens: Token[], json = false): Promise<void> => {
  const rows = tokens.map((token) => ({
    name: token.name,
    state: tokenState(token),
    scopes: token.scopes,
    createdAt: token.createdAt,
    expiresAt: token.expiresAt,
    revokedAt: token.revokedAt,
  }));
  if (json) return print(`${JSON.stringify(rows, null, 2)}\n`);
  const day = (date: Date | null) => date?.toISOString().slice(0, 16).replace('T', ' ') ?? '-';
  const width = Math.max(4, ...rows.map(({ name }) => name.length));
  const line = (...[name, state, created, expires, scopes]: [string, string, string, string, string]) =>
    `${name.padEnd(width)}  ${state.padEnd(7)}  ${created.padEnd(16)}  ${expires.padEnd(16)}  ${scopes}\n`;
  const lines = rows.map((row) =>
    line(row.name, row.state, day(row.createdAt), day(row.expiresAt), row.scopes.join(' ')),
  );
  return print([line('NAME', 'STATE', 'CREATED (UTC)', 'EXPIRES (UTC)', 'SCOPES'), ...lines].join(''));
};

const parseName = (text: string) => {
  // Not with a - in front: commander takes the option that follows a missing name for the name.
  if (/^[\w.@][\w.@-]{0,63}$/.test(text)) return text;
  throw new InvalidArgumentError('It should be 1 to 64 letters, digits or . _ @ - and not begin with -');
};

const parseExpiry = (text: string) => {
  const duration = parseDuration(text);
  if (duration === undefined) throw new InvalidArgumentError('It should be such as 45m, 12h, 30d or 52w.');
  return new Date(Date.now() + duration);
};
