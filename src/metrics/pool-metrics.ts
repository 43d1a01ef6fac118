import { Gauge, type Registry } from '@prometheus-io/client';

/** What a pool of the driver `pg` tells of itself. */
export type WatchedPool = {
  totalCount: number;
  idleCount: number;
  /** Statements that wait for a connection. */
  waitingCount: number;
  options: { max: number };
};

/** Looks at the pool of database connections when Prometheus asks. */
export const watchPool = (registry: Registry, pool: WatchedPool): void => {
  const registers = [registry];
  new Gauge({
    name: 'plant_store_database_connections',
    help: 'Connections to PostgreSQL, by whether a statement uses them.',
    labelNames: ['state'],
    registers,
    collect() {
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'used' }, pool.totalCount - pool.idleCount);
    },
  });
  new Gauge({
    name: 'plant_store_database_connections_limit',
    help: 'Connections to PostgreSQL that may be open, DATABASE_CONNECTIONS.',
    registers,
  }).set(pool.options.max);
  new Gauge({
    name: 'plant_store_database_waiting_statements',
    help: 'Statements that wait for a connection to PostgreSQL.',
    registers,
    collect() {
      this.set(pool.waitingCount);
    },
  });
};
