import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { haproxyObstacle, startHaproxy } from '../../support/haproxy.ts';
import type { Fault, World } from '../fault.ts';
import { exampleTrees } from '../plants.ts';
import type { Store } from '../store.ts';
import { underLoad } from '../under-load.ts';

const REPLICAS = 3;
const CLIENTS = 32;
/** How long a stopping store accepts requests, in seconds: four health checks of HAProxy. */
const SHUTDOWN_DELAY = 2;
/** How long to wait between replicas, in ms: HAProxy must notice that the last one is back. */
const INTERVAL = 1000;
/** The default, in ms. */
const REQUEST_TIMEOUT = 10_000;
const ROUNDS = { short: 1, long: 5 };

type Replacement = {
  /** Ends a replica; throws if it did not end as it must. */
  end: (store: Store) => Promise<unknown>;
  keyed: boolean;
};

/** Replaces one replica after another while clients store the example trees. All requests must get 200. */
const replaceReplicas = async (world: World, { end, keyed }: Replacement) => {
  const settings = { SHUTDOWN_DELAY: String(SHUTDOWN_DELAY), DATABASE_CONNECTIONS: '5', TRUST_PROXY: '1' };
  const stores = await Promise.all(Array.from({ length: REPLICAS }, () => world.startStore(settings)));
  const ports = stores.map(({ port }) => port);
  const haproxy = await startHaproxy(ports, join(world.folder, 'haproxy.log'));
  const plants = exampleTrees();
  /** How many plants were stored while each replica was away. */
  const meanwhile: number[] = [];
  try {
    const { notes, broken, ...findings } = await underLoad({
      world,
      url: haproxy.url,
      clients: CLIENTS,
      plants,
      repeats: false,
      keyed,
      promises: { longestWait: REQUEST_TIMEOUT, recovery: 2000, codes: [] },
      fault: async ({ counts }) => {
        for (let round = 0; round < (world.short ? ROUNDS.short : ROUNDS.long); round++) {
          for (const store of stores) {
            const before = counts.ok;
            await end(store);
            await store.start();
            meanwhile.push(counts.ok - before);
            await setTimeout(INTERVAL);
          }
        }
        while (counts.ok < plants.trees.length) await setTimeout(INTERVAL);
      },
    });
    const note = `${plants.trees.length} example trees, then firs; stored while each replica was replaced: ${meanwhile.join(', ')}`;
    const idle = meanwhile.includes(0) ? ['nothing was stored while a replica was replaced'] : [];
    return { ...findings, notes: [...notes, note], broken: [...broken, ...idle] };
  } finally {
    haproxy.stop();
  }
};

const stop = async (store: Store) => {
  const exitCode = await store.stop();
  if (exitCode !== 0) throw new Error(`a replica exited with ${exitCode}`);
};

export const rollingRestart: Fault = {
  name: 'rolling-restart',
  title: `rolling restart of ${REPLICAS} replicas behind HAProxy`,
  obstacle: haproxyObstacle,
  run: (world) => replaceReplicas(world, { end: stop, keyed: false }),
};

export const replicasKilled: Fault = {
  name: 'replicas-killed',
  title: `kill -9 of ${REPLICAS} replicas behind HAProxy in turn, requests with Idempotency-Key`,
  obstacle: haproxyObstacle,
  run: (world) => replaceReplicas(world, { end: (store) => store.kill(), keyed: true }),
};
