import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { haproxyObstacle, startHaproxy } from '../../support/haproxy.ts';
import type { Fault } from '../fault.ts';
import { underLoad } from '../under-load.ts';

const REPLICAS = 3;
const CLIENTS = 32;
/** As many plants as the examples have are stored at least. */
const PLANTS = 10_991;
/** How long a stopping store accepts requests, in seconds: four health checks of HAProxy. */
const SHUTDOWN_DELAY = 2;
/** How long to wait between replicas, in ms: HAProxy must notice that the last one is back. */
const INTERVAL = 1000;
/** The default, in ms. */
const REQUEST_TIMEOUT = 10_000;
const ROUNDS = { short: 1, long: 5 };

export const rollingRestart: Fault = {
  name: 'rolling-restart',
  title: `rolling restart of ${REPLICAS} replicas behind HAProxy`,
  obstacle: haproxyObstacle,
  run: async (world) => {
    const settings = { SHUTDOWN_DELAY: String(SHUTDOWN_DELAY), DATABASE_CONNECTIONS: '5', TRUST_PROXY: '1' };
    const stores = await Promise.all(Array.from({ length: REPLICAS }, () => world.startStore(settings)));
    const ports = stores.map(({ port }) => port);
    const haproxy = await startHaproxy(ports, join(world.folder, 'haproxy.log'));
    const exitCodes: (number | null)[] = [];
    try {
      const findings = await underLoad({
        world,
        url: haproxy.url,
        clients: CLIENTS,
        promises: { longestWait: REQUEST_TIMEOUT, recovery: 2000, codes: [] },
        fault: async ({ counts }) => {
          for (let round = 0; round < (world.short ? ROUNDS.short : ROUNDS.long); round++) {
            for (const store of stores) {
              exitCodes.push(await store.stop());
              await store.start();
              await setTimeout(INTERVAL);
            }
          }
          while (counts.ok < PLANTS) await setTimeout(INTERVAL);
        },
      });
      const broken = exitCodes.some((code) => code !== 0) ? [`exit codes were ${exitCodes}`] : [];
      return { ...findings, broken: [...findings.broken, ...broken] };
    } finally {
      haproxy.stop();
    }
  },
};
