import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BenchError, findReason } from '../command.ts';
import type { OpenTarget } from '../load/load.ts';
import { runWrk } from '../load/wrk.ts';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const POLL_INTERVAL_MS = 50;
/** `npm start` gives the store a compile cache; here every server has one. */
const COMPILE_CACHE = join(import.meta.dirname, '..', 'node_modules', '.cache', 'compile');

/** A server under test, in its own process. `url` is that of `POST /plants`. */
export type Server = OpenTarget & { pid: number; url: string; token: string; get: (path: string) => Promise<Response> };

type StartServer = {
  args: string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  token: string;
  folder: string;
  signal: AbortSignal;
};

/**
 * Starts a server and waits until it has stored a plant.
 * @throws {BenchError} with the reason the server logged, if it exits, does not listen or answers anything but 200
 */
export const startServer = async ({ token, ...settings }: StartServer): Promise<Server> => {
  const { folder, signal } = settings;
  signal.throwIfAborted();
  const port = await findFreePort();
  const [logFile, errorFile] = [join(folder, `${port}.log`), join(folder, `${port}.err`)];
  const child = spawnServer({ ...settings, port, logFile, errorFile });
  const url = `http://127.0.0.1:${port}/plants`;
  try {
    await waitUntilReady({ child, url, token, signal });
  } catch (error) {
    await stopProcess(child);
    const logged = findReason(readFileSync(errorFile, 'utf8')) || findReason(readFileSync(logFile, 'utf8'));
    throw error instanceof BenchError ? new BenchError([error.message, logged].filter(Boolean).join(': ')) : error;
  }
  return {
    pid: child.pid as number,
    url,
    token,
    load: (load) => runWrk(load, { url, token }, { folder, signal }),
    get: (path) => fetch(new URL(path, url), { headers: { Authorization: `Bearer ${token}` }, signal }),
    [Symbol.asyncDispose]: () => stopProcess(child),
  };
};

const stopProcess = async (child: ChildProcess): Promise<void> => {
  if (hasExited(child)) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
};

const hasExited = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

const findFreePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

type SpawnServer = Pick<StartServer, 'args' | 'cwd' | 'env'> & { port: number; logFile: string; errorFile: string };

const spawnServer = ({ args, cwd, env, port, logFile, errorFile }: SpawnServer) => {
  const [log, errors] = [openSync(logFile, 'a'), openSync(errorFile, 'a')];
  const settings = { NODE_ENV: 'production', NODE_COMPILE_CACHE: COMPILE_CACHE, HOST: '127.0.0.1', PORT: String(port) };
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env, ...settings },
    stdio: ['ignore', log, errors],
    // In its own process group, so that Ctrl-C reaches only the benchmark, which then stops the server and its workers.
    detached: true,
  });
  closeSync(log);
  closeSync(errors);
  return child;
};

type Readiness = { child: ChildProcess; url: string; token: string; signal: AbortSignal };

const waitUntilReady = async ({ child, url, token, signal }: Readiness) => {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    if (hasExited(child)) throw new BenchError(`exited during startup (${child.exitCode ?? child.signalCode})`);
    if (Date.now() > deadline) throw new BenchError(`did not listen within ${START_TIMEOUT_MS / 1000} s`);
    const response = await createPlant(url, token).catch(() => undefined);
    if (response?.status === 200) return;
    if (response) throw new BenchError(`answered ${response.status} to a plant: ${await response.text()}`);
    await delay(POLL_INTERVAL_MS, undefined, { signal });
  }
};

const createPlant = (url: string, token: string) =>
  fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ id: Date.now(), name: 'Monstera deliciosa', tag: 'indoor' }),
    signal: AbortSignal.timeout(START_TIMEOUT_MS),
  });
