import { setTimeout } from 'node:timers/promises';
import type { Fault, World } from '../fault.ts';
import { underLoad } from '../under-load.ts';

/** How long PostgreSQL is down, in ms: longer than the store trusts a token without a lookup. */
const OUTAGE = 6000;

const runOutage = async (world: World, end: () => Promise<void>) => {
  const store = await world.startStore();
  return underLoad({
    world,
    url: store.url,
    promises: { longestWait: 2000, recovery: 2000, codes: [1501] },
    fault: async () => {
      await end();
      await setTimeout(OUTAGE);
      await world.postgres.start();
    },
  });
};

export const postgresKilled: Fault = {
  name: 'postgres-killed',
  title: 'PostgreSQL: kill -9, down for 6 s, started again',
  run: (world) => runOutage(world, world.postgres.kill),
};

export const postgresStopped: Fault = {
  name: 'postgres-stopped',
  title: 'PostgreSQL: stopped for maintenance, down for 6 s',
  run: (world) => runOutage(world, world.postgres.stop),
};
