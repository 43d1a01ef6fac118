/** Installs the packages of `bench/` and generates the peers' Prisma client. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { BenchError, reasonOf } from './processes/bench-error.ts';
import { runCommand } from './processes/command.ts';
import { say } from './reports/progress.ts';

const folder = import.meta.dirname;
const lockFile = join(folder, 'package-lock.json');
const installedLock = join(folder, 'node_modules', '.package-lock.json');
const schema = join(folder, 'peers', 'schema.prisma');
const client = join(folder, 'peers', 'generated', 'client.ts');
const prismaCommand = join(folder, 'node_modules', 'prisma', 'build', 'index.js');

export const prepare = async (signal: AbortSignal): Promise<void> => {
  if (!isNewer(installedLock, lockFile)) await installPackages(signal);
  if (!isNewer(client, schema) || !isNewer(client, installedLock)) await generateClient(signal);
};

const isNewer = (made: string, source: string) =>
  existsSync(made) && statSync(made).mtimeMs >= statSync(source).mtimeMs;

const installPackages = async (signal: AbortSignal) => {
  say('Installing the peers in bench/node_modules (once, about 550 MB)');
  // npm sets npm_execpath for its scripts: the npm that runs the benchmark also installs its packages.
  const npm = process.env.npm_execpath;
  const [file, args] = npm ? [process.execPath, [npm, 'ci']] : ['npm', ['ci']];
  await runCommand({ file, args, cwd: folder, signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new BenchError(`npm ci in bench/ failed: ${reasonOf(error)}`);
  });
};

/** Without Prisma, its peers are reported as not installed. */
const generateClient = async (signal: AbortSignal) => {
  if (!existsSync(prismaCommand)) return;
  const args = [prismaCommand, 'generate', '--schema', schema];
  // Any path here stops `prisma generate` from downloading a schema engine, which it does not use.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  await runCommand({ file: process.execPath, args, cwd: folder, env, signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    say(`prisma generate failed, so the Prisma peers cannot start: ${reasonOf(error)}`);
  });
};

if (import.meta.main) await prepare(new AbortController().signal);
