#!/usr/bin/env -S node --max-old-space-size=1024 --max-semi-space-size=32
// bin/launch.js passes these options too. --max-semi-space-size=32 bears many clients (record 0034).
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Command, CommanderError } from 'commander';
import { addExportCommand } from './commands/export-command.ts';
import { addImportCommand } from './commands/import-command.ts';
import { parseBrowser, parsePort } from './commands/option-parsers.ts';
import { note, OutputError, print } from './commands/output.ts';
import { addSearchIndexCommand } from './commands/search-index-command.ts';
import { serve } from './commands/serve.ts';
import { openStudio } from './commands/studio.ts';
import { addTokenCommands } from './commands/token-commands.ts';
import { explainError, withSession } from './commands/with-database.ts';
import { readConfig } from './config/config.ts';
import { migrate } from './database/migrate.ts';
import { openApiDocument } from './openapi-document.ts';
import { version } from './version.ts';

const EXIT_CODES = { success: 0, failure: 1, usageError: 2 };

// No other file reads the environment.
const envFile = resolve(import.meta.dirname, '..', '.env');
if (existsSync(envFile)) process.loadEnvFile(envFile);
// Only the connections without options of their own would follow it.
delete process.env.PGOPTIONS;
if (/[?&]sslrootcert=system(&|$)/m.test(`${process.env.DATABASE_URL}\n${process.env.DIRECT_URL}`)) {
  // For workers and Prisma Studio.
  process.env.NODE_USE_SYSTEM_CA = '1';
  setDefaultCACertificates([...getCACertificates(), ...getCACertificates('system')]);
}
const config = () => readConfig(process.env);

let help = '';
const program = new Command('plant-store')
  .configureOutput({
    writeOut: (text) => {
      help += text;
    },
  })
  .version(version)
  .description('Stores plants in PostgreSQL. Configured by environment variables and .env; see .env.example.')
  .exitOverride()
  .showHelpAfterError('(add --help for usage)');
program
  .command('serve')
  .description('serve the API over HTTP until SIGTERM or SIGINT')
  .action(() => serve(config()));
program
  .command('migrate')
  .description('apply pending database migrations')
  .action(async () => {
    const applied = await withSession(config(), (url) => migrate(url, note), { migrates: false, isMigrated: false });
    await print(applied.length > 0 ? `Applied: ${applied.join(', ')}\n` : 'Nothing to apply.\n');
  });
program
  .command('studio')
  .description('browse the database in Prisma Studio')
  .option('--port <port>', 'port to listen on at 127.0.0.1', parsePort, '5555')
  .option('--browser <browser>', 'browser to open, or "none"', parseBrowser)
  .action((options) => openStudio({ ...options, config: config(), environment: process.env }));
program
  .command('openapi')
  .description('print the OpenAPI document that is served at /openapi.json')
  .action(() => print(`${JSON.stringify(openApiDocument, null, 2)}\n`));
addImportCommand(program, config);
addExportCommand(program, config);
addSearchIndexCommand(program, config);
addTokenCommands(program.command('token').description('create, list and revoke access tokens'), config);

/** Runs one command. @returns the exit code */
const run = async (): Promise<number> => {
  // If standard error cannot be written to, only the exit code is left.
  process.stderr.on('error', () => {});
  try {
    await program.parseAsync(process.argv).catch((error) => {
      // Commander throws after --help and --version too.
      if (!(error instanceof CommanderError && error.exitCode === 0)) throw error;
    });
    if (help !== '') await print(help);
    return EXIT_CODES.success;
  } catch (error) {
    if (error instanceof CommanderError) return EXIT_CODES.usageError;
    // The reader closed the pipe, as `| head -1` does.
    if (error instanceof OutputError && error.cause.code === 'EPIPE') return EXIT_CODES.success;
    process.stderr.write(`${explainError(error, config)}\n`);
    return EXIT_CODES.failure;
  }
};

process.exit(await run());
