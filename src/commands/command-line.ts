import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { DatabaseEncodingError } from '../database/database-encoding.ts';
import { classifyDatabaseError } from '../database/database-error.ts';
import { MigrationError, migrate } from '../database/migrate.ts';
import { EmbeddedPostgresError } from '../embedded-postgres/embedded-postgres-error.ts';
import { ListenError } from '../http/http-server.ts';
import { createOpenApiDocument } from '../openapi/openapi-document.ts';
import { version } from '../version.ts';
import { leaseDatabase } from './lease-database.ts';
import { LocalTokenError } from './local-token.ts';
import { OutputError, print } from './print.ts';
import { serve } from './serve.ts';
import { StoreRunsError } from './store-lock.ts';
import { openStudio, StudioError } from './studio.ts';
import { addTokenCommands, TokenCommandError } from './token-commands.ts';
import { WorkerError } from './workers.ts';

/** What a command ends with: 0 it is done, 1 it could not be done, 2 it was called wrongly. */
const EXIT_CODES = { done: 0, failed: 1, misused: 2 };

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs one command to its end. @returns the exit code */
export const runCommandLine = async (words: readonly string[], environment: Environment): Promise<number> => {
  // Where standard error takes nothing, there is nobody to tell, and the exit code has to do.
  process.stderr.on('error', () => {});
  let help = '';
  const program = createCommandLine({
    config: () => readConfig(environment),
    writeHelp: (text) => {
      help += text;
    },
  });
  try {
    await program.parseAsync(words, { from: 'user' }).catch((error) => {
      // So commander ends after --help and --version.
      if (!(error instanceof CommanderError && error.exitCode === 0)) throw error;
    });
    if (help !== '') await print(help);
    return EXIT_CODES.done;
  } catch (error) {
    if (error instanceof CommanderError) return EXIT_CODES.misused;
    if (error instanceof OutputError && error.closedByReader) return EXIT_CODES.done;
    process.stderr.write(`${explain(error)}\n`);
    return EXIT_CODES.failed;
  }
};

type CommandLineOptions = { config: () => Config; writeHelp: (text: string) => void };

const createCommandLine = ({ config, writeHelp }: CommandLineOptions) => {
  const program = new Command('plant-store')
    .configureOutput({ writeOut: writeHelp })
    .version(version)
    .description('Keeps plants in PostgreSQL. Settings come from the environment and .env; see .env.example.')
    .exitOverride()
    .showHelpAfterError('(add --help for how to call it)');
  program
    .command('serve')
    .description('serve the store over HTTP until SIGTERM or SIGINT')
    .action(() => serve(config()));
  program
    .command('migrate')
    .description('apply the migrations that the database lacks')
    .action(async () => {
      const lease = await leaseDatabase(config());
      const applied = await migrate(lease.url).finally(lease.release);
      await print(applied.length > 0 ? `Applied: ${applied.join(', ')}\n` : 'Nothing to apply.\n');
    });
  program
    .command('studio')
    .description('look into the database with Prisma Studio')
    .option('--port <port>', 'where it listens on 127.0.0.1', parsePort, '5555')
    .option('--browser <browser>', 'the browser to open, or none', parseBrowser)
    .action((options) => openStudio(config(), options));
  program
    .command('openapi')
    .description('print the description of the interface, as /openapi.json has it')
    .action(() => print(`${JSON.stringify(createOpenApiDocument(config()), null, 2)}\n`));
  addTokenCommands(program.command('token').description('make, list and revoke access tokens'), config);
  return program;
};

const parsePort = (text: string) => {
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535) return text;
  throw new InvalidArgumentError('It should be a TCP port, 1 to 65535.');
};

const parseBrowser = (text: string) => {
  if (!text.startsWith('-')) return text;
  throw new InvalidArgumentError('It should be the name of a browser, or none.');
};

/** What is no fault of the store: the message says what is wrong and what to do. */
const OPERATIONAL_ERRORS = [
  ConfigError,
  DatabaseEncodingError,
  EmbeddedPostgresError,
  ListenError,
  LocalTokenError,
  MigrationError,
  OutputError,
  StoreRunsError,
  StudioError,
  TokenCommandError,
  WorkerError,
];

/** A failure that the caller can do something about takes a line or two; a fault of ours keeps its stack. */
const explain = (error: unknown): string => {
  if (OPERATIONAL_ERRORS.some((kind) => error instanceof kind)) return (error as Error).message;
  const { path, message, stack } = error as NodeJS.ErrnoException;
  // Errors of the file system name a path.
  if (path !== undefined) return `${message}. DATA_DIR should be a folder that this user may write to.`;
  switch (classifyDatabaseError(error)) {
    case 'unreachable':
    case 'interrupted':
      return `The database cannot be reached: ${lastLine(message)}`;
    case 'notMigrated':
      return 'The database is not migrated. Run: plant-store migrate';
    default:
      return stack ?? String(error);
  }
};

/** Prisma says what it was called with first, and what went wrong last. */
const lastLine = (message: string) => message.trim().split('\n').at(-1);
