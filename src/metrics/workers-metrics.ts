import { AggregatorRegistry } from '@prometheus-io/client';

/** The metrics of all workers of this process, asked of each of them; to be made before they are started. */
export const createWorkersMetrics = () => {
  const registry = new AggregatorRegistry();
  return {
    /**
     * In Prometheus' text format.
     * @throws where a worker does not answer within 5 s
     */
    read: () => registry.clusterMetrics(),
  };
};
