import { setTimeout } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { createTcpProxy } from '../tcp-proxy.ts';
import { underLoad } from '../under-load.ts';

/** In seconds; less than the default in a short run. */
const REQUEST_TIMEOUT = { short: 5, long: 10 };
/** How long packets are dropped, in ms: long enough for requests during the stall to reach their deadline. */
const STALL = { short: 12_000, long: 25_000 };

/** As when a firewall forgets connections: open ones are lost, and neither side is notified. */
export const networkStalled: Fault = {
  name: 'network-stalled',
  title: 'the network to PostgreSQL drops packets',
  run: async (world) => {
    const form = world.short ? 'short' : 'long';
    const timeout = REQUEST_TIMEOUT[form];
    const proxy = await createTcpProxy(world.postgres.port);
    const store = await world.startStore({ REQUEST_TIMEOUT: String(timeout) }, proxy.through(world.postgres.url));
    try {
      return await underLoad({
        world,
        url: store.url,
        promises: { longestWait: timeout * 1000, recovery: timeout * 1000, codes: [1501, 1500] },
        fault: async () => {
          proxy.stall();
          await setTimeout(STALL[form]);
          proxy.resume();
        },
      });
    } finally {
      proxy.close();
    }
  },
};
