import { Counter, Gauge, type Registry } from '@prometheus-io/client';

const OUTCOMES = ['created', 'replaced', 'skipped', 'failed'] as const;

export const createImportMetrics = ({ registry }: { registry: Registry }) => {
  const registers = [registry];
  const rows = new Counter({
    name: 'plant_store_import_rows_total',
    help: 'Imported rows by outcome. Dry runs are not counted.',
    labelNames: ['outcome'],
    registers,
  });
  // Starts each series at 0, because Prometheus sees no increase in a series that starts at 1.
  for (const outcome of OUTCOMES) rows.inc({ outcome }, 0);
  const inProgress = new Gauge({
    name: 'plant_store_imports_in_progress',
    help: 'Imports in progress.',
    registers,
  });
  inProgress.set(0);
  return {
    begin: (): void => inProgress.inc(),
    count: (added: Record<(typeof OUTCOMES)[number], number>): void => {
      for (const outcome of OUTCOMES) if (added[outcome] > 0) rows.inc({ outcome }, added[outcome]);
    },
    end: (): void => inProgress.dec(),
  };
};
