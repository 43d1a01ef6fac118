import { setTimeout } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { underLoad } from '../under-load.ts';

/** How long PostgreSQL is down, in ms: longer than the store trusts a token without a lookup. */
const OUTAGE = 6000;

export const postgresKilled: Fault = {
  name: 'postgres-killed',
  title: 'PostgreSQL: kill -9, down for 6 s, started again',
  run: async (world) => {
    const { postgres } = world;
    const store = await world.startStore();
    return underLoad({
      world,
      url: store.url,
      promises: { longestWait: 2000, recovery: 2000, codes: [1501] },
      fault: async () => {
        await postgres.kill();
        await setTimeout(OUTAGE);
        await postgres.start();
      },
    });
  },
};
