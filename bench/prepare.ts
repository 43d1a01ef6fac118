/** Makes `bench/` ready to run: its packages from the lock file, the peers' Prisma client. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { BenchError, reasonOf } from './bench-error.ts';
import { runCommand } from './command.ts';
import { say } from './progress.ts';

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
  // Set by npm inside its scripts: the npm that runs the benchmark installs its packages too.
  const npm = process.env.npm_execpath;
  const [file, args] = npm ? [process.execPath, [npm, 'ci']] : ['npm', ['ci']];
  await runCommand({ file, args, cwd: folder, signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new BenchError(`npm ci in bench/ failed: ${reasonOf(error)}`);
  });
};

/** Where Prisma is missing, its peers say so later: each target names what it lacks. */
const generateClient = async (signal: AbortSignal) => {
  if (!existsSync(prismaCommand)) return;
  // `prisma generate` fetches a schema engine that it does not use here, unless it is told that there is one.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  await runCommand({
    file: process.execPath,
    args: [prismaCommand, 'generate', '--schema', schema],
    cwd: folder,
    env,
    signal,
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    say(`prisma generate failed, the peers on Prisma cannot start: ${reasonOf(error)}`);
  });
};
