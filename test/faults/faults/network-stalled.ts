import { setTimeout } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { createTcpProxy } from '../tcp-proxy.ts';
import { underLoad } from '../under-load.ts';

/** In seconds; in the short form less than the default. */
const REQUEST_TIMEOUT = { short: 5, long: 10 };
/** How long nothing gets through, in ms: long enough that requests which came during the stall reach their deadline. */
const STALL = { short: 12_000, long: 25_000 };

/** As where a firewall forgets connections: those that were open are lost, and neither side is told. */
export const networkStalled: Fault = {
  name: 'network-stalled',
  title: 'the network to PostgreSQL swallows packets',
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
