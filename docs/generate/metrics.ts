import type { Registry } from '@prometheus-io/client';
import { createMetrics } from '../../src/observability/metrics.ts';
import { readWorkersMetrics } from '../../src/observability/workers-metrics.ts';
import { code, list, renderPage, table } from './markdown.ts';

/** What the help of a metric leaves out. */
const notes: Record<string, string> = {
  plant_store_ready:
    'Each scrape also starts a check, which the next one shows. Unlike `/readyz`, it does not change when the service stops.',
  plant_store_http_request_duration_seconds:
    '`route` is the pattern without the base path, or `unknown`. `status` is `aborted` if the client disconnected first.',
  plant_store_http_errors_total:
    'Includes requests that were not valid HTTP (1006, 1202, 1203), which the histogram omits.',
  plant_store_batch_items: 'Its `_count` counts batches.',
  plant_store_in_use: 'A number that stays above 0 without requests is a leak: please report it.',
  plant_store_database_connections: 'Those of imports, exports and `/readyz` are not counted.',
  plant_store_queue_items: 'The limits of each queue are in [limits](limits.md#queues).',
  plant_store_workers: 'Only with `WORKERS`. A dead worker has no series until it is replaced.',
  plant_store_worker_up: 'Only with `WORKERS`. If it is 0, the other series of that worker are missing.',
};

const INTRODUCTION = `Set \`METRICS_PORT\` to serve \`GET /metrics\` in Prometheus' text format. With \`WORKERS\`, each series but
\`plant_store_workers\` has the label \`worker\`, and the parent process serves those of all workers. [Monitor](../how-to/monitor.md) says how to read them.`;

type Described = { name: string; help: string; type: string; labelNames: string[] };

/** Each kind of metric that createMetrics can make, as a service makes them. */
const createAll = (): Registry => createMetrics({ readState: () => ({}) as never }).registry;

const render = (metrics: Described[]) =>
  table(
    ['metric', 'type', 'labels', 'meaning'],
    metrics.map(({ name, help, type, labelNames }) => [code(name), type, labelNames.map(code).join(', '), help]),
  );

/** Those that the parent of several workers adds. */
const readOfParent = async (): Promise<Described[]> => {
  const found = (await readWorkersMetrics(2)).matchAll(/^# HELP (\w+) (.*)\n# TYPE \w+ (\w+)$/gm);
  return [...found].map(([, name = '', help = '', type = '']) => {
    const labelNames = name === 'plant_store_worker_up' ? ['worker'] : [];
    return { name, help, type, labelNames };
  });
};

export const renderMetrics = async (): Promise<string> => {
  const all = createAll().getMetricsAsArray() as unknown as Described[];
  const own = [...all.filter(({ name }) => name.startsWith('plant_store_')), ...(await readOfParent())];
  const others = all.filter(({ name }) => !name.startsWith('plant_store_'));
  return renderPage(
    'Metrics',
    'src/observability/',
    INTRODUCTION,
    '## Of the service',
    render(own),
    list(Object.entries(notes).map(([name, note]) => `${code(name)}: ${note}`)),
    '## Of the process',
    'From the Prometheus client for Node.js, on Linux.',
    render(others),
  );
};
