import { setTimeout } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { createRoundRobinProxy } from '../round-robin-proxy.ts';
import { underLoad } from '../under-load.ts';

const REPLICAS = 3;
/** How long a stopping store accepts requests, in seconds: much longer than the proxy needs to notice. */
const SHUTDOWN_DELAY = 2;
/** How long to wait between replicas, in ms: the proxy must notice that the last one is back. */
const INTERVAL = 1000;
/** The default, in ms. */
const REQUEST_TIMEOUT = 10_000;
const ROUNDS = { short: 1, long: 5 };

export const rollingRestart: Fault = {
  name: 'rolling-restart',
  title: `rolling restart of ${REPLICAS} replicas behind a proxy`,
  run: async (world) => {
    const start = () => world.startStore({ SHUTDOWN_DELAY: String(SHUTDOWN_DELAY), DATABASE_CONNECTIONS: '5' });
    const stores = await Promise.all(Array.from({ length: REPLICAS }, start));
    const proxy = await createRoundRobinProxy(stores.map(({ port }) => port));
    const exitCodes: (number | null)[] = [];
    try {
      const findings = await underLoad({
        world,
        url: proxy.url,
        promises: { longestWait: REQUEST_TIMEOUT, recovery: 2000, codes: [] },
        fault: async () => {
          for (let round = 0; round < (world.short ? ROUNDS.short : ROUNDS.long); round++) {
            for (const store of stores) {
              exitCodes.push(await store.stop());
              await store.start();
              await setTimeout(INTERVAL);
            }
          }
        },
      });
      const broken = exitCodes.some((code) => code !== 0) ? [`exit codes were ${exitCodes}`] : [];
      return { ...findings, broken: [...findings.broken, ...broken] };
    } finally {
      proxy.close();
    }
  },
};
