import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { OperationalError } from '../errors.ts';
import { assertWorkersReady } from '../observability/ask-workers.ts';
import { createMetricsServer } from '../observability/metrics-server.ts';

/** How long to wait before a dead worker is replaced, in ms, so that one that cannot start does not keep a core busy. */
const REPLACEMENT_DELAY = 1000;
const MAX_REPLACEMENT_DELAY = 60_000;

type WorkersOptions = {
  count: number | 'auto';
  databaseUrl: string;
  logger: Logger;
  metrics: Config['metrics'];
  /** Resolves when this process has the signal to stop, which its workers may have got, too. */
  stopSignal: Promise<unknown>;
};

/**
 * Several processes on one port (node:cluster). Each is a complete service with its own queues and database connections.
 * This process starts and stops them, replaces those that die, and serves the metrics of all.
 */
export const createWorkers = ({ count, databaseUrl, logger, metrics, stopSignal }: WorkersOptions) => {
  let stopping = false;
  void stopSignal.then(() => {
    stopping = true;
  });
  const workerCount = count === 'auto' ? availableParallelism() : count;
  const read = async () => (await import('../observability/workers-metrics.ts')).readWorkersMetrics(workerCount);
  const metricsServer = metrics && createMetricsServer({ ...metrics, read, assertReady: assertWorkersReady, logger });
  // When the time to stop is over: one that hangs would stay.
  process.once('exit', () => {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL');
  });

  // By default, a worker runs the program of this process with its arguments. bin/launch.js sets them.
  const fork = () => {
    const worker = cluster.fork({ DATABASE_URL: databaseUrl });
    logger.info({ worker: worker.id, pid: worker.process.pid }, 'worker started');
    return worker;
  };

  /** @param deaths how many workers in its place died in a row, the last that listened included: each doubles the pause */
  const replaceOnExit = async (worker: Worker, deaths = 0): Promise<void> => {
    let earlier = deaths;
    worker.once('listening', () => {
      earlier = 0;
    });
    // Rejects with the `error` of a process that the system could not start.
    const end = await once(worker, 'exit').then(
      ([code, signal]) => ({ code, signal }),
      (err: Error) => ({ err }),
    );
    if (stopping) return;
    const delay = Math.min(REPLACEMENT_DELAY * 2 ** earlier, MAX_REPLACEMENT_DELAY);
    logger.error({ worker: worker.id, ...end, replacedIn: delay }, 'a worker died');
    await setTimeout(delay);
    if (!stopping) void replaceOnExit(fork(), earlier + 1);
  };

  /**
   * @returns its port, or undefined if the signal to stop ended it
   * @throws {OperationalError} if the worker exits before it listens; after that it is replaced
   */
  const startWorker = async (): Promise<number | undefined> => {
    const worker = fork();
    const [address] = await Promise.race([once(worker, 'listening'), once(worker, 'exit')]);
    const port: number | undefined = address?.port;
    if (port === undefined && !stopping) throw new OperationalError('A worker did not start; see its output above.');
    if (port !== undefined) void replaceOnExit(worker);
    return port;
  };

  /** Each worker answers its requests in flight and exits. */
  const stop = async (): Promise<void> => {
    stopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker && !worker.isDead()) as Worker[];
    const ended = workers.map((worker) => once(worker, 'exit'));
    for (const worker of workers) worker.process.kill('SIGTERM');
    await Promise.all(ended);
    await metricsServer?.stop();
  };

  return {
    /** Resolves when all listen; stops them if one does not. @returns the port that they share; see `startWorker` */
    start: async (): Promise<number | undefined> => {
      try {
        await metricsServer?.start();
        const ports = await Promise.all(Array.from({ length: workerCount }, startWorker));
        return ports.find(Boolean);
      } catch (error) {
        await stop();
        throw error;
      }
    },
    stop,
  };
};
