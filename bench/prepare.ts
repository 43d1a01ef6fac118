/** Installs the packages of `bench/` and generates the peers' Prisma client. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand, say } from './command.ts';

const cwd = import.meta.dirname;
const installedLock = join(cwd, 'node_modules', '.package-lock.json');
const schema = join(cwd, 'peers', 'schema.prisma');
const client = join(cwd, 'peers', 'generated', 'client.ts');

/** @throws {BenchError} if they cannot be installed */
export const prepare = async (signal: AbortSignal): Promise<void> => {
  if (!isNewer(installedLock, join(cwd, 'package-lock.json'))) {
    say('Installing the peers in bench/node_modules (once, about 330 MB)');
    // npm sets npm_execpath for its scripts: the npm that runs the benchmark also installs its packages.
    const npm = process.env.npm_execpath;
    const [file, args] = npm ? [process.execPath, [npm, 'ci']] : ['npm', ['ci']];
    await runCommand({ file, args, cwd, signal });
  }
  if (isNewer(client, schema) && isNewer(client, installedLock)) return;
  const args = [join(cwd, 'node_modules', 'prisma', 'build', 'index.js'), 'generate', '--schema', schema];
  // Any path here stops `prisma generate` from downloading a schema engine, which it does not use.
  const env = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  await runCommand({ file: process.execPath, args, cwd, env, signal });
};

const isNewer = (made: string, source: string) =>
  existsSync(made) && statSync(made).mtimeMs >= statSync(source).mtimeMs;

if (import.meta.main) await prepare(new AbortController().signal);
