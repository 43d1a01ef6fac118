import { Command, CommanderError } from 'commander';
import { ConfigError, readConfig } from '../config.ts';
import { classifyDatabaseError } from '../database/database-error.ts';
import { MigrationError, migrate } from '../database/migrate.ts';
import { EmbeddedPostgresError } from '../embedded-postgres/embedded-postgres-error.ts';
import { ListenError } from '../http/http-server.ts';
import { createOpenApiDocument } from '../openapi/openapi-document.ts';
import { leaseDatabase } from './lease-database.ts';
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
  try {
    await createCommandLine(() => readConfig(environment)).parseAsync(words, { from: 'user' });
    return EXIT_CODES.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.misused;
    process.stderr.write(`${explain(error)}\n`);
    return EXIT_CODES.failed;
  }
};

const createCommandLine = (config: () => ReturnType<typeof readConfig>) => {
  const program = new Command('plant-store')
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
      process.stdout.write(applied.length > 0 ? `Applied: ${applied.join(', ')}\n` : 'Nothing to apply.\n');
    });
  program
    .command('studio')
    .description('look into the database with Prisma Studio')
    .option('--port <port>', 'where it listens on 127.0.0.1', '5555')
    .option('--browser <browser>', 'the browser to open, or none')
    .action((options) => openStudio(config(), options));
  program
    .command('openapi')
    .description('print the description of the interface, as /openapi.json has it')
    .action(async () => {
      const text = `${JSON.stringify(createOpenApiDocument(config()), null, 2)}\n`;
      // The process ends when the command does, and a pipe does not take so much at once.
      await new Promise((resolve) => process.stdout.write(text, resolve));
    });
  addTokenCommands(program.command('token').description('make, list and revoke access tokens'), config);
  return program;
};

/** What is no fault of the store: the message says what is wrong and what to do. */
const OPERATIONAL_ERRORS = [
  ConfigError,
  EmbeddedPostgresError,
  ListenError,
  MigrationError,
  StoreRunsError,
  StudioError,
  TokenCommandError,
  WorkerError,
];

/** A failure that the caller can do something about takes a line or two; a fault of ours keeps its stack. */
const explain = (error: unknown): string => {
  if (OPERATIONAL_ERRORS.some((kind) => error instanceof kind)) return (error as Error).message;
  const { code, message, stack } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM') return `${message}. Is this folder another user's?`;
  switch (classifyDatabaseError(error)) {
    case 'unreachable':
      return `The database cannot be reached: ${lastLine(message)}`;
    case 'notMigrated':
      return 'The database is not migrated. Run: plant-store migrate';
    default:
      return stack ?? String(error);
  }
};

/** Prisma says what it was called with first, and what went wrong last. */
const lastLine = (message: string) => message.trim().split('\n').at(-1);
