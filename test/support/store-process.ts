import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { execPath, kill } from 'node:process';
import { text } from 'node:stream/consumers';
import { variableNames } from '../../src/config/config.ts';
import { spawnChild } from './children.ts';
import { waitUntil } from './wait-until.ts';

export const projectFolder = resolve(import.meta.dirname, '..', '..');

type Environment = Record<string, string>;

/** Unsets all settings of the store, also those in .env. */
export const NOTHING_SET: Environment = Object.fromEntries(variableNames.map((name) => [name, '']));

/** The environment of this process with only these settings of the store. */
export const cleanEnvironment = (environment: Environment) => ({ ...process.env, ...NOTHING_SET, ...environment });

/** Starts the command line as `npx plant-store` does. `stdout` may be a file descriptor. */
export const spawnCommand = (words: string[], environment: Environment = {}, stdout: number | 'pipe' = 'pipe') =>
  spawnChild(execPath, ['bin/plant-store.js', ...words], {
    cwd: projectFolder,
    env: cleanEnvironment(environment),
    stdio: ['ignore', stdout, 'pipe'],
    detached: true,
  });

/** The same, with a pipe as its standard input. */
export const spawnWithInput = (words: string[], environment: Environment) =>
  spawnChild(execPath, ['bin/plant-store.js', ...words], {
    cwd: projectFolder,
    env: cleanEnvironment(environment),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });

/** Runs the command line. @returns its output and its exit code, undefined if a signal ended it */
export const runCommand = async (words: string[], environment?: Environment, stdout?: number) => {
  const command = spawnCommand(words, environment, stdout);
  const [[code], ...output] = await Promise.all([
    once(command, 'exit') as Promise<[number | null]>,
    ...[command.stdout, command.stderr].map((stream) => (stream ? text(stream) : '')),
  ]);
  const [printed = '', said = ''] = output;
  return { code: code ?? undefined, stdout: printed, stderr: said };
};

/** Runs the command line with a standard output that is full. */
export const runCommandOnFullDisk = async (words: string[], environment?: Environment) => {
  const full = openSync('/dev/full', 'w');
  try {
    return await runCommand(words, environment, full);
  } finally {
    closeSync(full);
  }
};

/** Starts the store with `npm start` or, given `DATABASE_URL`, with `serve`. Waits until it listens. */
export const startStore = async (environment: Environment & { DATA_DIR: string }) => {
  // A busy machine may take longer to look up a token than a fifth of the default, 10 s.
  const env = cleanEnvironment({ PORT: '0', REQUEST_TIMEOUT: '60', ...environment });
  const [program, words] = environment.DATABASE_URL ? [execPath, ['bin/plant-store.js', 'serve']] : ['npm', ['start']];
  const process = spawnChild(program, words, {
    cwd: projectFolder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const output = { text: '' };
  for (const stream of [process.stdout, process.stderr]) stream?.on('data', (chunk) => (output.text += chunk));
  const exited = once(process, 'exit').then(([code, signal]) => ({ code, signal }));
  const listening = /"pid":(\d+),.*"listening"/;
  const found = (pattern: RegExp) => pattern.exec(output.text)?.[1] ?? '';
  await waitUntil('the store to listen', () => {
    const end = process.exitCode ?? process.signalCode;
    if (end !== null) throw new Error(`the store ended with ${end}:\n${output.text}`);
    return (
      /Plant Store listens on .*\n[\s\S]*(curl |token create ).*\n/.test(output.text) && listening.test(output.text)
    );
  });
  const pid = Number(found(listening));
  return {
    process,
    exited,
    output,
    url: found(/Plant Store listens on (\S+)/),
    token: found(/^ {2}(plant_\S+)$/m),
    curl: found(/^ {2}(curl .+)$/m),
    /** The id of the store's process; `process` may be npm. */
    pid,
    /** Sends a signal to the store. @returns how its process ended */
    stop: (signal: NodeJS.Signals = 'SIGTERM') => {
      kill(pid, signal);
      return exited;
    },
  };
};

export type StoreProcess = Awaited<ReturnType<typeof startStore>>;

type ServeOptions = {
  environment: Environment & { PORT: string };
  /** Node.js options, then the program. */
  command?: string[];
  stdout?: number | 'pipe' | 'ignore';
};

/** Starts `serve` without reading its output, and waits until it responds. */
export const serve = async ({ environment, command = ['bin/plant-store.js'], stdout = 'ignore' }: ServeOptions) => {
  const store = spawnChild(execPath, [...command, 'serve'], {
    cwd: projectFolder,
    env: cleanEnvironment(environment),
    stdio: ['ignore', stdout, 'pipe'],
  });
  const errors = { text: '' };
  store.stderr?.on('data', (chunk) => (errors.text += chunk));
  const exited = once(store, 'exit');
  const url = `http://127.0.0.1:${environment.PORT}`;
  await waitUntil(
    'the store to respond',
    async () => (await fetch(`${url}/livez`).catch(() => undefined))?.ok === true,
  );
  return {
    process: store,
    url,
    /** Its standard error. */
    errors,
    /** Sends SIGTERM. @returns exit code and signal */
    stop: () => {
      store.kill('SIGTERM');
      return exited;
    },
  };
};
