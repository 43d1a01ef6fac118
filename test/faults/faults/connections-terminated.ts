import { setTimeout } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { underLoad } from '../under-load.ts';

const TIMES = 20;
const INTERVAL = 200;

export const connectionsTerminated: Fault = {
  name: 'connections-terminated',
  title: `pg_terminate_backend on every connection, ${TIMES} times`,
  run: async (world) => {
    const store = await world.startStore();
    return underLoad({
      world,
      url: store.url,
      promises: { longestWait: 2000, recovery: 2000, codes: [1501] },
      fault: async () => {
        for (let time = 0; time < TIMES; time++) {
          await setTimeout(INTERVAL);
          await world.postgres.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
          );
        }
      },
    });
  },
};
