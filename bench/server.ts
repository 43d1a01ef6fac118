import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BenchError } from './bench-error.ts';
import { findReason } from './command.ts';
import { findFreePort } from './free-port.ts';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const POLL_INTERVAL_MS = 50;
/** Of Node.js, as the store has one where it is started by npm; here the peers have it too. */
const COMPILE_CACHE = join(import.meta.dirname, 'node_modules', '.cache', 'compile');

export type ServerCommand = { args: string[]; cwd: string; env: NodeJS.ProcessEnv };

/** A server under test, in a process of its own on this Node. */
export type Server = { pid: number; url: string; logFile: string; stop: () => Promise<void> };

type StartServer = { command: ServerCommand; token: string; folder: string; signal: AbortSignal };

/**
 * Starts a server and waits until it stores a plant.
 * @throws {BenchError} with the reason that it wrote, where it ends, stays away or answers anything but 200
 */
export const startServer = async ({ command, token, folder, signal }: StartServer): Promise<Server> => {
  signal.throwIfAborted();
  const port = await findFreePort();
  const [logFile, errorFile] = [join(folder, `${port}.log`), join(folder, `${port}.err`)];
  const child = spawnServer({ command, port, logFile, errorFile });
  const url = `http://127.0.0.1:${port}/plants`;
  const stop = () => stopServer(child);
  try {
    await untilReady({ child, url, token, signal });
  } catch (error) {
    await stop();
    const said = findReason(readFileSync(errorFile, 'utf8')) || findReason(readFileSync(logFile, 'utf8'));
    throw error instanceof BenchError ? new BenchError([error.message, said].filter(Boolean).join(': ')) : error;
  }
  return { pid: child.pid as number, url, logFile, stop };
};

/** Append mode, so that a log file that is cut short goes on at its new end. */
const spawnServer = (options: { command: ServerCommand; port: number; logFile: string; errorFile: string }) => {
  const { args, cwd, env } = options.command;
  const [log, errors] = [openSync(options.logFile, 'a'), openSync(options.errorFile, 'a')];
  const child = spawn(process.execPath, args, {
    cwd,
    env: {
      ...process.env,
      ...env,
      NODE_ENV: 'production',
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      HOST: '127.0.0.1',
      PORT: String(options.port),
    },
    stdio: ['ignore', log, errors],
    // A process group of its own: Ctrl-C reaches the benchmark alone, which then ends the server and its workers.
    detached: true,
  });
  closeSync(log);
  closeSync(errors);
  return child;
};

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

type Readiness = { child: ChildProcess; url: string; token: string; signal: AbortSignal };

const untilReady = async ({ child, url, token, signal }: Readiness) => {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    if (hasEnded(child)) throw new BenchError(`ended while starting (exit ${child.exitCode ?? child.signalCode})`);
    if (Date.now() > deadline) throw new BenchError(`did not listen within ${START_TIMEOUT_MS / 1000} s`);
    const answer = await createOnePlant(url, token);
    if (answer?.status === 200) return;
    if (answer) throw new BenchError(`answered ${answer.status} to a plant: ${answer.body.slice(0, 200)}`);
    await delay(POLL_INTERVAL_MS, undefined, { signal });
  }
};

/** Undefined while nobody listens. No connection is kept: it would count as one of the load's. */
const createOnePlant = async (url: string, token: string): Promise<{ status: number; body: string } | undefined> => {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
  const sent = request(url, { method: 'POST', headers, agent: false, timeout: START_TIMEOUT_MS });
  sent.on('timeout', () => sent.destroy());
  sent.end(JSON.stringify({ id: Date.now(), name: 'Monstera deliciosa', tag: 'indoor' }));
  try {
    const [response] = await once(sent, 'response');
    let body = '';
    for await (const chunk of response) body += chunk;
    return { status: response.statusCode, body };
  } catch {
    return undefined;
  }
};

const stopServer = async (child: ChildProcess) => {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
};
