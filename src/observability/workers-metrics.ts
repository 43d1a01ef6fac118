import { Gauge, Registry } from '@prometheus-io/client';
import { askWorkers } from './ask-workers.ts';

type Metrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/**
 * In the primary process: the metrics of the workers that reply, and which workers those are, in Prometheus' text format.
 * AggregatorRegistry fails for all if one does not reply.
 * @param count how many workers there should be
 */
export const readWorkersMetrics = async (count: number): Promise<string> => {
  const registry = new Registry();
  new Gauge({
    name: 'plant_store_workers',
    help: 'Number of workers that there should be (WORKERS).',
    registers: [registry],
  }).set(count);
  const up = new Gauge({
    name: 'plant_store_worker_up',
    help: '1 if the worker returned its metrics in time, 0 if not.',
    labelNames: ['worker'],
    registers: [registry],
  });
  const answers = await Promise.all(askWorkers('metrics'));
  for (const { worker, found } of answers) up.set({ worker: String(worker.id) }, found ? 1 : 0);
  const replies = answers.map(({ found }) => (found ?? []) as Metrics);
  return Registry.aggregate([...replies, await registry.getMetricsAsJSON()]).metrics();
};
