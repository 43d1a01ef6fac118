#!/usr/bin/env -S node --max-old-space-size=1024 --max-semi-space-size=16
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { runCommandLine } from './commands/command-line.ts';

// The edge: the one file that reads the environment and ends the process.
const envFile = resolve(import.meta.dirname, '..', '.env');
if (existsSync(envFile)) process.loadEnvFile(envFile);
process.exit(await runCommandLine(process.argv.slice(2), process.env));
