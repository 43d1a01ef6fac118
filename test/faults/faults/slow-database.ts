import { setTimeout } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { canLookInside, memoryOf } from '../memory.ts';
import { createTcpProxy } from '../tcp-proxy.ts';
import { underLoad } from '../under-load.ts';

/** In ms. */
const STATEMENT_TIME = 500;
const DURATION = { short: 10_000, long: 60_000 };
/** Fewer than the clients, so that requests are refused. */
const QUEUE_LIMIT = 16;
/** The default of REQUEST_TIMEOUT, in ms. */
const DEADLINE = 10_000;
/** How long a refusal may take, in ms: as long as the token lookup before it. */
const AT_ONCE = STATEMENT_TIME + 250;
/** In MiB. Less may be garbage that is not collected yet. */
const GROWTH = 64;

export const slowDatabase: Fault = {
  name: 'slow-database',
  title: `the database is slow: ${STATEMENT_TIME} ms per statement`,
  run: async (world) => {
    const proxy = await createTcpProxy(world.postgres.port);
    const databaseUrl = proxy.through(world.postgres.url);
    const store = await world.startStore({ QUEUE_LIMIT: String(QUEUE_LIMIT) }, databaseUrl);
    let growth = 0;
    try {
      const findings = await underLoad({
        world,
        url: store.url,
        promises: { longestWait: DEADLINE, longest503: AT_ONCE, recovery: 2000, codes: [1500] },
        fault: async () => {
          const before = canLookInside ? memoryOf(store.pid()) : 0;
          proxy.slowDown(STATEMENT_TIME);
          await setTimeout(world.short ? DURATION.short : DURATION.long);
          proxy.slowDown(0);
          growth = canLookInside ? memoryOf(store.pid()) - before : 0;
        },
      });
      const notes = [...findings.notes, `memory: ${growth > 0 ? '+' : ''}${growth.toFixed(0)} MiB`];
      const broken = growth > GROWTH ? [`its memory grew by more than ${GROWTH} MiB`] : [];
      return { ...findings, notes, broken: [...findings.broken, ...broken] };
    } finally {
      proxy.close();
    }
  },
};
