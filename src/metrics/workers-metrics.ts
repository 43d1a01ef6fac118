import cluster, { type Worker } from 'node:cluster';
import { setTimeout } from 'node:timers/promises';
import { AggregatorRegistry, Gauge, Registry } from '@prometheus-io/client';

/** How long a worker may take to answer, in ms: less than the 10 s that Prometheus waits by default. */
const ANSWER_TIMEOUT = 4000;

const REQUEST = 'plant-store:read-metrics';
const ANSWER = 'plant-store:metrics';

type Metrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;
/** Without metrics where the worker failed to read them. */
type Answer = { type: typeof ANSWER; metrics?: Metrics };

/** In a worker: answers the process that started it, which serves the metrics of all. */
export const answerMetricsRequests = (registry: Registry): void => {
  process.on('message', async (message: { type?: string }) => {
    if (message.type !== REQUEST) return;
    const metrics = await registry.getMetricsAsJSON().catch(() => undefined);
    // The one who asked may be gone.
    if (process.connected) process.send?.({ type: ANSWER, metrics }, () => {});
  });
};

/**
 * The metrics of all workers of this process. Not the client's own AggregatorRegistry, which gives up on all workers where
 * one does not answer.
 */
export const createWorkersMetrics = () => {
  const underWay = new WeakMap<Worker, Promise<Metrics | undefined>>();

  /** One question at a time: those for a worker that is stuck would wait in memory. */
  const ask = (worker: Worker) => {
    const answer = underWay.get(worker) ?? requestMetrics(worker).finally(() => underWay.delete(worker));
    underWay.set(worker, answer);
    return answer;
  };

  return {
    /** In Prometheus' text format: those of the workers that answer, and which these are. */
    read: async (): Promise<string> => {
      const registry = new Registry();
      const up = new Gauge({
        name: 'plant_store_worker_up',
        help: 'Whether a worker answered for its metrics.',
        labelNames: ['worker'],
        registers: [registry],
      });
      const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected()) as Worker[];
      const answers = await Promise.all(
        workers.map(async (worker) => {
          const metrics = await Promise.race([ask(worker), setTimeout(ANSWER_TIMEOUT, undefined, { ref: false })]);
          up.set({ worker: String(worker.id) }, metrics ? 1 : 0);
          return metrics ?? [];
        }),
      );
      return AggregatorRegistry.aggregate([...answers, await registry.getMetricsAsJSON()]).metrics();
    },
  };
};

/** Never resolves where the worker dies first. */
const requestMetrics = (worker: Worker): Promise<Metrics | undefined> =>
  new Promise((resolve) => {
    const onMessage = (message: Partial<Answer>) => {
      if (message.type !== ANSWER) return;
      worker.off('message', onMessage);
      resolve(message.metrics);
    };
    worker.on('message', onMessage);
    worker.send({ type: REQUEST }, () => {});
  });
