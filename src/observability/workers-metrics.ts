import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { Gauge, Registry } from '@prometheus-io/client';

/** How long to wait for a worker's metrics, in ms: less than Prometheus' default timeout of 10 s. */
const REPLY_TIMEOUT = 4000;

type Metrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** In a worker: sends its metrics to the primary process on request. The processes send each other no other messages. */
export const handleMetricsRequests = (registry: Registry): void => {
  process.on('message', async () => {
    const metrics = await registry.getMetricsAsJSON().catch(() => undefined);
    // The primary process may be gone.
    if (process.connected) process.send?.({ metrics }, () => {});
  });
};

/** The requests for metrics that a worker has not answered yet. More requests to a stuck worker would pile up in memory. */
const underWay = new WeakMap<Worker, Promise<Metrics | undefined>>();

const metricsOf = (worker: Worker) => {
  const metrics = underWay.get(worker) ?? requestMetrics(worker).finally(() => underWay.delete(worker));
  underWay.set(worker, metrics);
  return metrics;
};

/**
 * In the primary process: the metrics of the workers that reply, and which workers those are, in Prometheus' text format.
 * AggregatorRegistry fails for all if one does not reply.
 */
export const readWorkersMetrics = async (): Promise<string> => {
  const registry = new Registry();
  const up = new Gauge({
    name: 'plant_store_worker_up',
    help: '1 if the worker returned its metrics in time, 0 if not.',
    labelNames: ['worker'],
    registers: [registry],
  });
  const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected()) as Worker[];
  const replies = await Promise.all(
    workers.map(async (worker) => {
      const metrics = await Promise.race([metricsOf(worker), setTimeout(REPLY_TIMEOUT, undefined, { ref: false })]);
      up.set({ worker: String(worker.id) }, metrics ? 1 : 0);
      return metrics ?? [];
    }),
  );
  return Registry.aggregate([...replies, await registry.getMetricsAsJSON()]).metrics();
};

/** @returns undefined if the worker failed to read them; never resolves if it dies first */
const requestMetrics = async (worker: Worker): Promise<Metrics | undefined> => {
  worker.send('read metrics', () => {});
  // Rejects if the worker fails meanwhile.
  const [reply] = await once(worker, 'message').catch(() => []);
  return reply?.metrics;
};
