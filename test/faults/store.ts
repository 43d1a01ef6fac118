import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { spawnChild } from '../support/children.ts';
import { NOTHING_SET, projectFolder } from '../support/store-process.ts';
import { waitUntil } from '../support/wait-until.ts';

const PROGRAM = join(projectFolder, 'bin', 'plant-store.js');
/** In ms. */
const START_TIMEOUT = 60_000;

type Environment = Record<string, string>;

const storeEnvironment = (databaseUrl: string, environment: Environment = {}) => ({
  ...process.env,
  ...NOTHING_SET,
  NODE_ENV: 'production',
  DATABASE_URL: databaseUrl,
  ...environment,
});

/** Runs a command of the store. @returns its output */
export const runStoreCommand = async (databaseUrl: string, ...words: string[]): Promise<string> => {
  const env = storeEnvironment(databaseUrl);
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...words], { cwd: projectFolder, env });
  return stdout.trim();
};

type StoreOptions = { databaseUrl: string; logFile: string; environment?: Environment };

/** The store as shipped, in its own process, on the same port after each start. */
export const createStore = async ({ databaseUrl, logFile, environment = {} }: StoreOptions) => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = storeEnvironment(databaseUrl, { ...environment, PORT: String(port) });
  let child = spawnStore(env, logFile);
  const isRunning = () => child.exitCode === null && child.signalCode === null;

  const waitUntilReady = () =>
    waitUntil(
      'the store to be ready',
      async () => {
        if (!isRunning()) throw new Error(`the store exited; its log is ${logFile}`);
        const response = await fetch(`${url}/readyz`).catch(() => undefined);
        await response?.text();
        return response?.ok === true;
      },
      { patience: START_TIMEOUT, explain: () => `its log is ${logFile}` },
    );

  const end = async (signal: NodeJS.Signals) => {
    if (!isRunning()) return child.exitCode;
    const exit = once(child, 'exit');
    child.kill(signal);
    const [code] = await exit;
    return code as number | null;
  };

  await waitUntilReady();
  return {
    url,
    port,
    pid: () => child.pid ?? 0,
    /** Starts it again, and waits until it is ready. */
    start: async () => {
      child = spawnStore(env, logFile);
      await waitUntilReady();
    },
    kill: () => end('SIGKILL'),
    /** @returns its exit code */
    stop: () => end('SIGTERM'),
  };
};

export type Store = Awaited<ReturnType<typeof createStore>>;

const spawnStore = (env: NodeJS.ProcessEnv, logFile: string) => {
  const log = openSync(logFile, 'a');
  return spawnChild(process.execPath, [PROGRAM, 'serve'], { cwd: projectFolder, env, stdio: ['ignore', log, log] });
};
