import { Counter, Gauge, type Registry } from '@prometheus-io/client';

export type WatchedExports = Readonly<{ inProgress: number; rows: number }>;

export const watchExports = (registry: Registry, exports: WatchedExports): void => {
  new Gauge({
    name: 'plant_store_exports_in_progress',
    help: 'Exports in progress.',
    registers: [registry],
    collect() {
      this.set(exports.inProgress);
    },
  });
  new Counter({
    name: 'plant_store_exported_plants_total',
    help: 'Plants read for exports.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(exports.rows);
    },
  });
};
