import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { toWriteError } from '../database/database-error.ts';
import { OperationalError } from '../errors.ts';
import { SCOPES, type Scope, type Token, tokenState } from '../tokens/token.ts';
import type { TokenRepository } from '../tokens/token-repository.ts';
import { parseExpiry, parseOverlap, parseScopes, parseTokenName } from './option-parsers.ts';
import { note, type OutputError, print } from './output.ts';
import { baseUrl, curlLine } from './usage.ts';
import { withDatabase, withTokens } from './with-database.ts';

type CreateOptions = { name: string; expires?: Date; scope?: Scope[]; ifNone?: true };

/** In ms. */
const HOUR = 3_600_000;

/** Adds `create`, `list`, `rotate`, `revoke` and `delete`. They need the database, but not a running service. */
export const addTokenCommands = (command: Command, config: () => Config): void => {
  const useTokens = (use: (tokens: TokenRepository) => Promise<void>) =>
    withDatabase(config(), (url) => withTokens(url, use));
  command
    .command('create')
    .description('create a token and print it to standard output; it cannot be shown again')
    .requiredOption('--name <name>', 'unique name, which is logged with each request', parseTokenName)
    .option(
      '--expires <duration>',
      'how long the token is valid, such as 12h or 30d (default: until it is revoked)',
      parseExpiry,
    )
    .option('--scope <scope...>', `scopes, separated by spaces: ${SCOPES.join(' ')} (default: all)`, parseScopes)
    .option('--if-none', 'do nothing if the database already has a token')
    .action((options: CreateOptions) => useTokens((tokens) => createToken(tokens, options, config())));
  command
    .command('list')
    .description('list all tokens; their text is not stored')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: true }) => useTokens(async (tokens) => printTokens(await tokens.list(), json)));
  command
    .command('rotate')
    .description('give a token another text and print it; the name, the scopes and the expiry stay')
    .argument('<name>')
    .option('--overlap <duration>', 'how long the text from before stays valid (default: 1h)', parseOverlap)
    .action((name: string, { overlap = HOUR }: { overlap?: number }) =>
      useTokens(async (tokens) => {
        const text = await written(tokens.rotate(name, overlap));
        if (text === undefined) throw await missing(tokens, name, 'is revoked or has expired. Create another');
        await printToken(text, 'the one from before stays valid', () => tokens.undoRotate(text));
        const end = new Date(Date.now() + overlap).toISOString();
        note(`Save this token; it cannot be shown again. The one from before is valid until ${end} at the latest.`);
      }),
    );
  /** `otherwise`: why a token of this name does not count. */
  const addChange = (verb: 'revoke' | 'delete', done: string, description: string, otherwise?: string) =>
    command
      .command(verb)
      .description(description)
      .argument('<name>')
      .action((name: string) =>
        useTokens(async (tokens) => {
          if (!(await written(tokens[verb](name)))) throw await missing(tokens, name, otherwise);
          note(`${done} "${name}".`);
        }),
      );
  addChange('revoke', 'Revoked', 'revoke a token; running services refuse it within 5 seconds');
  const deletion = 'delete a revoked token, so that its name can be used again';
  addChange('delete', 'Deleted', deletion, 'is not revoked. Revoke it first');
};

const missing = async (tokens: TokenRepository, name: string, state = '') =>
  new OperationalError(
    (await tokens.exists(name)) ? `The token "${name}" ${state}.` : `There is no token named "${name}".`,
  );

/** @throws {OutcomeUnknownError} the connection broke, possibly after the change was made */
const written = <Result>(change: Promise<Result>): Promise<Result> =>
  change.catch((error: unknown) => {
    throw toWriteError(error);
  });

const createToken = async (tokens: TokenRepository, options: CreateOptions, config: Config) => {
  const { name, expires: expiresAt = null, scope: scopes = [...SCOPES] } = options;
  if (options.ifNone && (await tokens.list()).length > 0) {
    note('The database already has a token; none was created.');
    return;
  }
  // Stored before it is printed, so that every printed token works.
  const text = await written(tokens.create({ name, scopes, expiresAt }));
  await printToken(text, 'was deleted', () => tokens.undoCreate(text));
  const url = baseUrl(config);
  const example = scopes.includes('plants:write')
    ? `Store a plant:\n${curlLine(url, text)}`
    : `Read plants:\ncurl ${url}/plants -H 'Authorization: Bearer ${text}'`;
  note(`Save this token; it cannot be shown again. ${example}`);
};

/** @param undone what `undo` does if the token cannot be printed */
const printToken = (text: string, undone: string, undo: () => Promise<void>): Promise<void> =>
  print(`${text}\n`).catch(async ({ cause }: OutputError) => {
    await undo();
    throw new OperationalError(`The token could not be printed and ${undone}: ${cause.message}`, { cause });
  });

const printTokens = (tokens: Token[], json = false): Promise<void> => {
  const rows = tokens.map((token) => {
    const { name, scopes, createdAt, expiresAt, revokedAt, lastUsedAt } = token;
    return { name, state: tokenState(token), scopes, createdAt, expiresAt, revokedAt, lastUsedAt };
  });
  if (json) return print(`${JSON.stringify(rows, null, 2)}\n`);
  const minute = (date: Date | null) => date?.toISOString().replace(/T(.{5}).*/, ' $1') ?? '-';
  const table = [
    ['NAME', 'STATE', 'CREATED (UTC)', 'EXPIRES (UTC)', 'LAST USED (UTC)', 'SCOPES'],
    ...rows.map(({ name, state, createdAt, expiresAt, lastUsedAt, scopes }) => [
      ...[name, state, minute(createdAt), minute(expiresAt), minute(lastUsedAt), scopes.join(' ')],
    ]),
  ];
  const width = Math.max(...table.map(([name = '']) => name.length));
  const lines = table.map(([name = '', state = '', ...others]) =>
    [name.padEnd(width), state.padEnd(7), ...others.map((cell) => cell.padEnd(16))].join('  ').trimEnd(),
  );
  return print(`${lines.join('\n')}\n`);
};
