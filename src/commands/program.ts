import { Command, CommanderError } from 'commander';
import { readConfig } from '../config/config.ts';
import { version } from '../version.ts';
import { addChangesCommand } from './changes-command.ts';
import { addConfigCommand, type Settings } from './config-command.ts';
import { addExportCommand } from './export-command.ts';
import { addImportCommand } from './import-command.ts';
import { addManyCommands } from './many-commands.ts';
import { parseBrowser, parsePort } from './option-parsers.ts';
import { note, OutputError, print } from './output.ts';
import { addSearchIndexCommand } from './search-index-command.ts';
import { openStudio } from './studio.ts';
import { addTokenCommands } from './token-commands.ts';
import { explainError, withDatabase } from './with-database.ts';

type ProgramOptions = Settings & {
  /** Takes the texts of --help and --version. */
  writeOut: (text: string) => void;
};

/** The command line, from which docs/reference/command-line.md is made. */
export const createProgram = ({ environment, fromFile, writeOut }: ProgramOptions): Command => {
  const config = () => readConfig(environment);
  const program = new Command('plant-store')
    .configureOutput({ writeOut, writeErr: (text) => note(text.trimEnd()) })
    .version(version)
    .description(
      'Stores plants in PostgreSQL. Configured by environment variables and .env: plant-store config prints every setting.',
    )
    .exitOverride()
    .showHelpAfterError('(add --help for usage)')
    .addHelpText('after', '\nExit codes: 0 success, 1 failure, 2 usage error.');
  program
    .command('serve')
    .description('serve the API over HTTP until SIGTERM, SIGINT or SIGHUP')
    .action(async () => (await import('./serve.ts')).serve(config()));
  program
    .command('migrate')
    .description('apply pending database migrations')
    .action(async () => {
      const applied = await withDatabase(config(), async (_url, _databases, applied) => applied, { migrates: true });
      await print(applied.length > 0 ? `Applied: ${applied.join(', ')}\n` : 'Nothing to apply.\n');
    });
  program
    .command('studio')
    .description('browse the database in Prisma Studio')
    .option('--port <port>', 'port to listen on at 127.0.0.1', parsePort, '5555')
    .option('--browser <browser>', 'browser to open, or "none"', parseBrowser)
    .action((options) => openStudio({ ...options, config: config(), environment }));
  program
    .command('openapi')
    .description('print the OpenAPI document that is served at /openapi.json')
    .action(async () => {
      const { openApiDocument } = await import('../openapi-document.ts');
      await print(`${JSON.stringify(openApiDocument, null, 2)}\n`);
    });
  addConfigCommand(program, { environment, fromFile });
  addImportCommand(program, { config, environment });
  addExportCommand(program, { config, environment });
  addManyCommands(program, { config, environment });
  addChangesCommand(program, config);
  addSearchIndexCommand(program, config);
  addTokenCommands(
    program.command('token').description('create, list, rotate, revoke and delete access tokens'),
    config,
  );
  return program;
};

const EXIT_CODES = { success: 0, failure: 1, usageError: 2 };

/**
 * Runs one command. Writes its error to standard error.
 * @param words the command and its arguments
 * @returns the exit code
 */
export const runProgram = async (words: string[], settings: Settings): Promise<number> => {
  let help = '';
  const writeOut = (text: string) => {
    help += text;
  };
  try {
    await createProgram({ ...settings, writeOut })
      .parseAsync(words, { from: 'user' })
      .catch((error) => {
        // Commander throws after --help and --version too.
        if (!(error instanceof CommanderError && error.exitCode === 0)) throw error;
      });
    if (help !== '') await print(help);
    return EXIT_CODES.success;
  } catch (error) {
    if (error instanceof CommanderError) return EXIT_CODES.usageError;
    // The reader closed the pipe, as `| head -1` does.
    if (error instanceof OutputError && error.cause.code === 'EPIPE') return EXIT_CODES.success;
    note(explainError(error, () => readConfig(settings.environment)));
    return EXIT_CODES.failure;
  }
};
