import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { createMetricsServer } from '../metrics/metrics-server.ts';

/** How long to wait before a worker that died is replaced, in ms: one that cannot start shall not keep a core busy. */
const REPLACEMENT_DELAY = 1000;

type WorkersOptions = { count: number | 'auto'; databaseUrl: string; logger: Logger; metrics: Config['metrics'] };

/**
 * Several processes of the store on one port (node:cluster). Each is a whole store, with a queue and database connections
 * of its own; this process starts them, replaces one that dies, stops them, and serves the metrics of all.
 */
export const createWorkers = ({ count, databaseUrl, logger, metrics }: WorkersOptions) => {
  let stopping = false;
  let metricsServer: ReturnType<typeof createMetricsServer> | undefined;
  cluster.setupPrimary({ exec: join(import.meta.dirname, '..', 'main.ts'), args: ['serve'] });

  const fork = () => {
    const worker = cluster.fork({ DATABASE_URL: databaseUrl });
    logger.info({ worker: worker.id, pid: worker.process.pid }, 'worker started');
    return worker;
  };

  const replace = async (worker: Worker, code: number | null, signal: string | null) => {
    if (stopping) return;
    logger.error({ worker: worker.id, code, signal }, 'a worker died');
    await setTimeout(REPLACEMENT_DELAY);
    if (!stopping) watch(fork());
  };

  const watch = (worker: Worker) => worker.once('exit', (code, signal) => replace(worker, code, signal));

  /** @throws where the worker ends before it listens; from then on it is replaced */
  const startWorker = async (): Promise<number> => {
    const worker = fork();
    const port = await listeningPort(worker);
    watch(worker);
    return port;
  };

  const startAll = async (): Promise<number> => {
    if (metrics) {
      const { createWorkersMetrics } = await import('../metrics/workers-metrics.ts');
      metricsServer = createMetricsServer({ ...metrics, ...createWorkersMetrics(), logger });
      await metricsServer.start();
    }
    const ports = await Promise.all(
      Array.from({ length: count === 'auto' ? availableParallelism() : count }, startWorker),
    );
    return ports[0] as number;
  };

  /** Each answers what is under way to it, and ends. */
  const stop = async (): Promise<void> => {
    stopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker && !worker.isDead()) as Worker[];
    const ended = workers.map((worker) => once(worker, 'exit'));
    for (const worker of workers) worker.process.kill('SIGTERM');
    await Promise.all(ended);
    await metricsServer?.stop();
  };

  return {
    /** Resolves when all listen. Where one does not, stops the others. @returns the port that they share */
    start: async (): Promise<number> => {
      try {
        return await startAll();
      } catch (error) {
        await stop();
        throw error;
      }
    },
    stop,
  };
};

/** @throws where the worker ends before it listens; what stood in its way it has said itself */
const listeningPort = async (worker: Worker): Promise<number> => {
  const [address] = (await Promise.race([once(worker, 'listening'), once(worker, 'exit')])) as [
    { port: number } | number,
  ];
  if (typeof address === 'object' && address !== null) return address.port;
  throw new WorkerError('A worker did not start; what it said stands above.');
};

/** A worker ended before it listened. */
export class WorkerError extends Error {
  override name = 'WorkerError';
}
