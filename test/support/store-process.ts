import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { execPath } from 'node:process';
import { text } from 'node:stream/consumers';
import { variableNames } from '../../src/config.ts';
import { spawnChild } from './children.ts';
import { waitUntil } from './wait-until.ts';

export const projectFolder = resolve(import.meta.dirname, '..', '..');

type Environment = Record<string, string>;

/** No variable of the store set, neither by the environment nor by the .env of the one who tests. */
export const NOTHING_SET: Environment = Object.fromEntries(variableNames.map((name) => [name, '']));

/** The environment of the one who tests, without the store's settings but those given. */
export const cleanEnvironment = (environment: Environment) => ({ ...process.env, ...NOTHING_SET, ...environment });

/** Starts the command line, as `npx plant-store` does. `stdout`: a file descriptor in place of a pipe. */
export const spawnCommand = (words: string[], environment: Environment = {}, stdout: number | 'pipe' = 'pipe') =>
  spawnChild(execPath, ['bin/plant-store.js', ...words], {
    cwd: projectFolder,
    env: cleanEnvironment(environment),
    stdio: ['ignore', stdout, 'pipe'],
    detached: true,
  });

/** Runs the command line to its end. @returns what it printed and its exit code, undefined where a signal ended it */
export const runCommand = async (words: string[], environment?: Environment, stdout?: number) => {
  const command = spawnCommand(words, environment, stdout);
  const [[code], ...output] = await Promise.all([
    once(command, 'exit') as Promise<[number | null]>,
    ...[command.stdout, command.stderr].map((stream) => (stream ? text(stream) : '')),
  ]);
  const [printed = '', said = ''] = output;
  return { code: code ?? undefined, stdout: printed, stderr: said };
};

/** Starts the store as a person does, or on the database of `DATABASE_URL` as a machine does; waits until it listens. */
export const startStore = async (environment: Environment & { DATA_DIR: string }) => {
  const env = cleanEnvironment({ PORT: '0', ...environment });
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
  const found = (pattern: RegExp) => pattern.exec(output.text)?.[1] ?? '';
  await waitUntil('the store to listen', () => {
    const end = process.exitCode ?? process.signalCode;
    if (end !== null) throw new Error(`the store ended with ${end}:\n${output.text}`);
    return /Plant Store listens on .*\n[\s\S]*(curl |token create ).*\n/.test(output.text);
  });
  const readPid = () => JSON.parse(readFileSync(join(environment.DATA_DIR, 'store.json'), 'utf8')).pid as number;
  const pid = environment.DATABASE_URL ? (process.pid as number) : readPid();
  return {
    process,
    exited,
    output,
    url: found(/Plant Store listens on (\S+)/),
    token: found(/^ {2}(plant_\S+)$/m),
    curl: found(/^ {2}(curl .+)$/m),
    /** The store's own process id; npm may stand between it and `process`. */
    pid,
  };
};
