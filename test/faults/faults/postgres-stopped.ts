import { setTimeout } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { underLoad } from '../under-load.ts';

/** How long PostgreSQL is down, in ms: longer than the store trusts a token without a lookup. */
const OUTAGE = 6000;

export const postgresStopped: Fault = {
  name: 'postgres-stopped',
  title: 'PostgreSQL: stopped for maintenance, down for 6 s',
  run: async (world) => {
    const { postgres } = world;
    const store = await world.startStore();
    return underLoad({
      world,
      url: store.url,
      promises: { longestWait: 2000, recovery: 2000, codes: [1501] },
      fault: async () => {
        await postgres.stop();
        await setTimeout(OUTAGE);
        await postgres.start();
      },
    });
  },
};
