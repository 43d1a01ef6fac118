import { setTimeout } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { underLoad } from '../under-load.ts';

const TIMES = 3;
/** How long the store runs between kills, in ms. */
const INTERVAL = 1500;

export const storeKilled: Fault = {
  name: 'store-killed',
  title: `the store: kill -9, started again, ${TIMES} times`,
  run: async (world) => {
    const store = await world.startStore();
    return underLoad({
      world,
      url: store.url,
      promises: { longestWait: 2000, recovery: 2000, codes: [], mayLoseAnswers: true },
      fault: async () => {
        for (let time = 0; time < TIMES; time++) {
          if (time > 0) await setTimeout(INTERVAL);
          await store.kill();
          await store.start();
        }
      },
    });
  },
};
