import cluster, { type Worker } from 'node:cluster';
import { setTimeout } from 'node:timers/promises';
import { AggregatorRegistry, Gauge, Registry } from '@prometheus-io/client';

/** How long to wait for a worker's metrics, in ms: less than Prometheus' default timeout of 10 s. */
const REPLY_TIMEOUT = 4000;

const REQUEST = 'plant-store:read-metrics';
const REPLY = 'plant-store:metrics';

type Metrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;
/** Has no metrics if the worker failed to read them. */
type Reply = { type: typeof REPLY; metrics?: Metrics };

/** In a worker: sends its metrics to the primary process on request. */
export const handleMetricsRequests = (registry: Registry): void => {
  process.on('message', async (message: { type?: string }) => {
    if (message.type !== REQUEST) return;
    const metrics = await registry.getMetricsAsJSON().catch(() => undefined);
    // The primary process may be gone.
    if (process.connected) process.send?.({ type: REPLY, metrics }, () => {});
  });
};

/**
 * In the primary process: the metrics of all workers. AggregatorRegistry's own cluster support fails for all workers if
 * one does not reply.
 */
export const createWorkersMetrics = () => {
  const underWay = new WeakMap<Worker, Promise<Metrics | undefined>>();

  /** Sends one request at a time: requests to a stuck worker would pile up in memory. */
  const metricsOf = (worker: Worker) => {
    const metrics = underWay.get(worker) ?? requestMetrics(worker).finally(() => underWay.delete(worker));
    underWay.set(worker, metrics);
    return metrics;
  };

  return {
    /** In Prometheus' text format: the metrics of the workers that reply, and which workers those are. */
    read: async (): Promise<string> => {
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
      return AggregatorRegistry.aggregate([...replies, await registry.getMetricsAsJSON()]).metrics();
    },
  };
};

/** Never resolves if the worker dies first. */
const requestMetrics = (worker: Worker): Promise<Metrics | undefined> =>
  new Promise((resolve) => {
    const onMessage = (message: Partial<Reply>) => {
      if (message.type !== REPLY) return;
      worker.off('message', onMessage);
      resolve(message.metrics);
    };
    worker.on('message', onMessage);
    worker.send({ type: REQUEST }, () => {});
  });
