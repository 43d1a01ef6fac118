import { setTimeout } from 'node:timers/promises';
import { compareWithTable } from '../compare-with-table.ts';
import type { Fault, World } from '../fault.ts';
import { canLookInside, handlesOf, memoryOf } from '../memory.ts';
import { createSteadyLoad } from '../steady-load.ts';
import type { Store } from '../store.ts';
import { findingsOf } from '../under-load.ts';

/** The load of a day with 10 plants per second, sent in ten minutes. A short run sends a twentieth at the same rate. */
const RATE = (10 * 86_400) / 600;
const DURATION = { short: 30_000, long: 600_000 };
/** At full speed, until the memory of Node.js stops growing; in ms. */
const WARM_UP = 10_000;
const CONNECTIONS = 64;
const SAMPLE_INTERVAL = 500;
/** Limits between the second and the last fifth of the time. */
const MEMORY_GROWTH = 24;
const HANDLES_GROWTH = 2;
/** The default. */
const DATABASE_CONNECTIONS = 10;

type Sample = { memory: number; handles: number; sessions: number };

export const soak: Fault = {
  name: 'soak',
  title: `${RATE.toLocaleString('en')} requests/s, a day's load in ten minutes`,
  obstacle: () => (canLookInside ? undefined : 'memory and handles can be read only on Linux'),
  run: async (world) => {
    const store = await world.startStore();
    const load = await createSteadyLoad({ url: store.url, token: world.token, connections: CONNECTIONS });
    await load.atOnce(WARM_UP);
    const sampling = new AbortController();
    const samples = sample(world, store, sampling.signal);
    await load.atRate(RATE, world.short ? DURATION.short : DURATION.long);
    sampling.abort();
    const growth = growthOf(await samples);
    load.close();
    const table = await compareWithTable(load.ledger, world.postgres.url);
    return {
      ...findingsOf(load.ledger),
      ...table,
      notes: growth.notes,
      broken: [
        ...table.broken,
        ...growth.broken,
        ...(load.ledger.counts.unavailable > 0 ? ['requests were answered 503'] : []),
        ...[...load.ledger.surprises.keys()].map((what) => `requests were ${what}`),
      ],
    };
  },
};

const sample = async ({ postgres }: World, store: Store, signal: AbortSignal): Promise<Sample[]> => {
  const samples: Sample[] = [];
  const isSession = "backend_type = 'client backend' AND pid <> pg_backend_pid()";
  while (!signal.aborted) {
    const [row] = await postgres.query(`SELECT count(*)::int AS sessions FROM pg_stat_activity WHERE ${isSession}`);
    samples.push({
      memory: memoryOf(store.pid()),
      handles: handlesOf(store.pid()),
      sessions: Number(row?.sessions),
    });
    await setTimeout(SAMPLE_INTERVAL, undefined, { signal }).catch(() => {});
  }
  return samples;
};

const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;

/** Compares the last fifth of the time with the second; the first includes the start. */
const growthOf = (samples: Sample[]) => {
  const fifth = Math.floor(samples.length / 5);
  const early = samples.slice(fifth, 2 * fifth);
  const late = samples.slice(-fifth);
  const compare = (figure: keyof Sample) => [early, late].map((part) => median(part.map((one) => one[figure])));
  const [[memory = 0, lateMemory = 0], [handles = 0, lateHandles = 0]] = [compare('memory'), compare('handles')];
  const sessions = Math.max(...samples.map((one) => one.sessions));
  return {
    notes: [
      `memory ${memory.toFixed(0)} MiB, then ${lateMemory.toFixed(0)}; handles ${handles}, then ${lateHandles}; ` +
        `at most ${sessions} connections to PostgreSQL`,
    ],
    broken: [
      ...(lateMemory - memory > MEMORY_GROWTH ? [`memory grew by more than ${MEMORY_GROWTH} MiB`] : []),
      ...(lateHandles - handles > HANDLES_GROWTH ? [`handles grew from ${handles} to ${lateHandles}`] : []),
      ...(sessions > DATABASE_CONNECTIONS ? [`${sessions} connections to PostgreSQL were open`] : []),
    ],
  };
};
