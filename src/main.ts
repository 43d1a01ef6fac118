#!/usr/bin/env -S node --max-old-space-size=1024 --max-semi-space-size=32
// bin/launch.js passes these options too. --max-semi-space-size=32 bears many clients (record 0034).
import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import tls from 'node:tls';
import { parseEnv } from 'node:util';
import { writeWhole } from './commands/output.ts';
import { runProgram } from './commands/program.ts';
import { homeFolder, projectFolder } from './commands/with-database.ts';
import { variableNames } from './config/config.ts';

// No other file reads the environment.
const envFile = join(homeFolder, '.env');
const readEnvFile = () => {
  try {
    // Python's virtual environments are often folders of this name.
    if (statSync(envFile, { throwIfNoEntry: false })?.isDirectory() !== false) return {};
    const bytes = readFileSync(envFile);
    // Drops a byte order mark. `process.loadEnvFile` would take it for a part of the first name.
    const text = new TextDecoder().decode(bytes);
    if (!isUtf8(bytes) || text.includes('\0')) throw new Error('it must be text in UTF-8');
    return parseEnv(text);
  } catch (error) {
    process.stderr.write(`${envFile} cannot be read: ${(error as Error).message}.\n`);
    process.exit(1);
  }
};
const fromFile: string[] = [];
for (const [name, value] of Object.entries(readEnvFile())) {
  // An installed package may be run in a folder of somebody else, whose URLs and proxies must not get a token.
  const isOurs = /^(OTEL|PG)/.test(name) || variableNames.some((known) => known === name);
  if (process.env[name] !== undefined || !(isOurs || homeFolder === projectFolder)) continue;
  process.env[name] = value;
  fromFile.push(name);
}
// Only the connections without options of their own would follow it.
delete process.env.PGOPTIONS;
// The embedded PostgreSQL has no TLS.
if (!process.env.DATABASE_URL) delete process.env.PGSSLNEGOTIATION;
if (/[?&]sslrootcert=system(&|$)/m.test(`${process.env.DATABASE_URL}\n${process.env.DIRECT_URL}`)) {
  // For workers and Prisma Studio.
  process.env.NODE_USE_SYSTEM_CA = '1';
  tls.setDefaultCACertificates([...tls.getCACertificates(), ...tls.getCACertificates('system')]);
}

// Output can fail, as with `>/dev/full`: `print` throws the error, and notes are lost. Without a listener, the event would end
// the process.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
writeWhole(process.stdout);
process.exit(await runProgram(process.argv.slice(2), { environment: process.env, fromFile }));
