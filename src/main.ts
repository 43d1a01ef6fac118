#!/usr/bin/env -S node --max-old-space-size=1024 --max-semi-space-size=32
// bin/launch.js passes these options too. --max-semi-space-size=32 bears many clients (record 0034).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import tls from 'node:tls';
import { CommanderError } from 'commander';
import { OutputError, print } from './commands/output.ts';
import { createProgram } from './commands/program.ts';
import { explainError, homeFolder } from './commands/with-database.ts';
import { readConfig } from './config/config.ts';

const EXIT_CODES = { success: 0, failure: 1, usageError: 2 };

// No other file reads the environment.
const envFile = join(homeFolder, '.env');
const given = Object.keys(process.env);
if (existsSync(envFile)) process.loadEnvFile(envFile);
const fromFile = Object.keys(process.env).filter((name) => !given.includes(name));
// Only the connections without options of their own would follow it.
delete process.env.PGOPTIONS;
// The embedded PostgreSQL has no TLS.
if (!process.env.DATABASE_URL) delete process.env.PGSSLNEGOTIATION;
if (/[?&]sslrootcert=system(&|$)/m.test(`${process.env.DATABASE_URL}\n${process.env.DIRECT_URL}`)) {
  // For workers and Prisma Studio.
  process.env.NODE_USE_SYSTEM_CA = '1';
  tls.setDefaultCACertificates([...tls.getCACertificates(), ...tls.getCACertificates('system')]);
}

let help = '';
const writeOut = (text: string) => {
  help += text;
};
const program = createProgram({ environment: process.env, fromFile, writeOut });

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
    process.stderr.write(`${explainError(error, () => readConfig(process.env))}\n`);
    return EXIT_CODES.failure;
  }
};

process.exit(await run());
