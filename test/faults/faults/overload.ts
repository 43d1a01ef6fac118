import { compareWithTable } from '../compare-with-table.ts';
import type { Fault, Findings, World } from '../fault.ts';
import { createSteadyLoad } from '../steady-load.ts';
import { findingsOf } from '../under-load.ts';
import { watchPauses } from '../watch-pauses.ts';

/** The load as a multiple of the peak, and the least share of the peak that must get 200. */
const FACTOR = 10;
const LEAST_SHARE = 0.8;
const CLIENTS = 64;
const PEAK_DURATION = 5000;
const DURATION = { short: 10_000, long: 60_000 };
/** How long a refusal may take, in ms, not counting pauses of the client process. */
const AT_ONCE = 1000;

/** Requests as fast as possible from ten times as many clients. The CPU is the limit, and the clients use some of it. */
export const manyClients: Fault = {
  name: 'many-clients',
  title: `${FACTOR * CLIENTS} clients, each as fast as it can`,
  run: async (world) => {
    const store = await world.startStore();
    return overload(world, {
      peak: (duration) => measure(world, store.url, CLIENTS, (load) => load.atOnce(duration)),
      overload: (duration) => measure(world, store.url, FACTOR * CLIENTS, (load) => load.atOnce(duration)),
    });
  },
};

/**
 * In seconds. Each plant takes so long in PostgreSQL that this machine can send ten times as many. The delay is per plant,
 * since a delay per batch would make the rate depend on the size of the batches.
 */
const PLANT_TIME = 0.01;
const QUEUE_LIMIT = 30;
const SLOW_DOWN = `
  CREATE FUNCTION slow_down() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(${PLANT_TIME}); RETURN NEW; END $$;
  CREATE TRIGGER slow_down BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION slow_down()`;

export const tenTimesTheRate: Fault = {
  name: 'overload',
  title: `${FACTOR} times as many requests per second as it can store`,
  run: async (world) => {
    await world.postgres.query(SLOW_DOWN);
    try {
      const store = await world.startStore({ QUEUE_LIMIT: String(QUEUE_LIMIT) });
      return await overload(world, {
        peak: (duration) => measure(world, store.url, 4 * QUEUE_LIMIT, (load) => load.atOnce(duration)),
        overload: (duration, peak) =>
          measure(world, store.url, FACTOR * CLIENTS, (load) => load.atRate(FACTOR * peak, duration)),
      });
    } finally {
      await world.postgres.query('DROP FUNCTION slow_down CASCADE');
    }
  },
};

type Measurement = { rate: number; findings: Findings };
type Phases = {
  peak: (duration: number) => Promise<Measurement>;
  /** `peak` in 200s per second. */
  overload: (duration: number, peak: number) => Promise<Measurement>;
};

const measure = async (
  { postgres, token }: World,
  url: string,
  connections: number,
  run: (load: Awaited<ReturnType<typeof createSteadyLoad>>) => Promise<void>,
): Promise<Measurement> => {
  await postgres.query('TRUNCATE plants');
  const load = await createSteadyLoad({ url, token, connections });
  const endPauses = watchPauses();
  const startedAt = performance.now();
  await run(load);
  const seconds = (performance.now() - startedAt) / 1000;
  load.close();
  const pause = endPauses();
  const { ledger } = load;
  const table = await compareWithTable(ledger, postgres.url);
  const { ok, unavailable } = ledger.longestWaits;
  const rate = ledger.counts.ok / seconds;
  const total = Object.values(ledger.counts).reduce((sum, count) => sum + count, 0);
  const notes = [
    `${connections} connections, ${Math.round(total / seconds)} requests/s, ${Math.round(rate)} of them got 200; ` +
      `longest wait for a 200: ${Math.round(ok)} ms, for a 503: ${Math.round(unavailable)} ms; 503 by code: ${JSON.stringify(ledger.codes)}; longest pause of the client process: ${Math.round(pause)} ms`,
  ];
  const broken = [...table.broken, ...[...ledger.surprises.keys()].map((what) => `requests were ${what}`)];
  if (unavailable > AT_ONCE + pause) broken.push(`a refusal took longer than ${AT_ONCE} ms`);
  return { rate, findings: { ...findingsOf(ledger), ...table, notes, broken } };
};

/** Measures the peak before and after, since other processes also use the machine. */
const overloadOnce = async (world: World, phases: Phases) => {
  await phases.peak(PEAK_DURATION / 5); // Warm-up.
  const before = await phases.peak(PEAK_DURATION);
  const { rate, findings } = await phases.overload(world.short ? DURATION.short : DURATION.long, before.rate);
  const after = await phases.peak(PEAK_DURATION);
  const share = (2 * rate) / (before.rate + after.rate);
  const notes = [before, { findings }, after]
    .flatMap((phase) => phase.findings.notes)
    .concat(`share of the peak: ${share.toFixed(2)}`);
  return { share, findings: { ...findings, notes } };
};

/** Repeats a measurement with too small a share twice, and takes the median: the speed of a shared machine changes within seconds. */
const overload = async (world: World, phases: Phases): Promise<Findings> => {
  const first = await overloadOnce(world, phases);
  const all = [first];
  if (first.share < LEAST_SHARE) all.push(await overloadOnce(world, phases), await overloadOnce(world, phases));
  const shares = all.map(({ share }) => share).sort((a, b) => a - b);
  const median = shares[Math.floor(shares.length / 2)] ?? 0;
  const isLess = median < LEAST_SHARE ? [`the rate of 200s fell to ${median.toFixed(2)} of the peak`] : [];
  return {
    ...first.findings,
    notes: all.flatMap(({ findings }) => findings.notes),
    broken: [...all.flatMap(({ findings }) => findings.broken), ...isLess],
  };
};
