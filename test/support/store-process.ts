import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { execPath } from 'node:process';
import { promisify } from 'node:util';
import { variableNames } from '../../src/config.ts';

export const projectFolder = resolve(import.meta.dirname, '..', '..');

type Environment = Record<string, string>;

/** No variable of the store set, neither by the environment nor by the .env of the one who tests. */
export const NOTHING_SET: Environment = Object.fromEntries(variableNames.map((name) => [name, '']));

/** The environment of the one who tests, without the store's settings but those given. */
export const cleanEnvironment = (environment: Environment) => ({ ...process.env, ...NOTHING_SET, ...environment });

/** Runs the command line, as `npx plant-store` does. @returns what it printed and its exit code */
export const runCommand = async (words: string[], environment: Environment = {}) => {
  const options = { cwd: projectFolder, env: cleanEnvironment(environment) };
  try {
    const output = await promisify(execFile)(process.execPath, ['bin/plant-store.js', ...words], options);
    return { code: 0, ...output };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
};

/** Starts the store as a person does, or on the database of `DATABASE_URL` as a machine does; waits until it listens. */
export const startStore = async (environment: Environment & { DATA_DIR: string }) => {
  const env = cleanEnvironment({ PORT: '0', ...environment });
  const [program, words] = environment.DATABASE_URL ? [execPath, ['bin/plant-store.js', 'serve']] : ['npm', ['start']];
  const process = spawn(program, words, { cwd: projectFolder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { text: '' };
  for (const stream of [process.stdout, process.stderr]) stream.on('data', (chunk) => (output.text += chunk));
  const exited = once(process, 'exit').then(([code, signal]) => ({ code, signal }));
  const found = (pattern: RegExp) => pattern.exec(output.text)?.[1] ?? '';
  while (!/Plant Store listens on .*\n[\s\S]*(curl |token create ).*\n/.test(output.text)) {
    if (process.exitCode !== null) throw new Error(`the store ended with ${process.exitCode}:\n${output.text}`);
    await new Promise((resume) => setTimeout(resume, 10));
  }
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
