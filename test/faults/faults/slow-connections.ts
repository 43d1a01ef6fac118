import { execFileSync } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { canLookInside, memoryOf } from '../memory.ts';
import { openSlowConnections } from '../slow-connections.ts';
import { underLoad } from '../under-load.ts';

const CONNECTIONS = 10_000;
/** In seconds; less than the default in a short run. */
const REQUEST_TIMEOUT = { short: 5, long: 10 };
/** How much later than REQUEST_TIMEOUT a slow connection may be closed, in ms: Node.js checks once a second. */
const TOLERANCE = 2500;

/** Each connection needs a file descriptor in this process and in the store, and both need some more. */
const findObstacle = () => {
  const limit = execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim();
  return limit !== 'unlimited' && Number(limit) < CONNECTIONS + 1000
    ? `a process may open ${limit} files (ulimit -Hn), but this needs ${CONNECTIONS + 1000}`
    : undefined;
};

export const slowConnections: Fault = {
  name: 'slow-connections',
  title: `${CONNECTIONS.toLocaleString('en')} idle and slow connections`,
  obstacle: findObstacle,
  run: async (world) => {
    const timeout = world.short ? REQUEST_TIMEOUT.short : REQUEST_TIMEOUT.long;
    const store = await world.startStore({ REQUEST_TIMEOUT: String(timeout) });
    const memory = () => (canLookInside ? `${memoryOf(store.pid()).toFixed(0)} MiB` : 'unknown');
    const notes = [`the store's memory before: ${memory()}`];
    const broken: string[] = [];
    const findings = await underLoad({
      world,
      url: store.url,
      promises: { longestWait: 2000, recovery: 2000, codes: [] },
      fault: async () => {
        const slow = await openSlowConnections(store.port, CONNECTIONS, world.token);
        notes.push(`the store's memory with them: ${memory()}`);
        await setTimeout(timeout * 1000 + TOLERANCE);
        for (const { kind, count, open, lastClosedAfter, answers } of slow.summary()) {
          const last = `the last one closed after ${Math.round(lastClosedAfter)} ms`;
          notes.push(`${kind}: ${count}, ${open} still open, ${last}, answered: ${answers.join(' and ')}`);
          if (kind === 'idle' && open < count) broken.push(`${count - open} idle connections were closed too early`);
          if (kind !== 'idle' && open > 0) broken.push(`${open} connections of kind "${kind}" were not closed`);
        }
        slow.close();
      },
    });
    return { ...findings, notes: [...findings.notes, ...notes], broken: [...findings.broken, ...broken] };
  },
};
