import { compareWithTable } from '../compare-with-table.ts';
import type { Fault, Findings, World } from '../fault.ts';
import { createSteadyLoad } from '../steady-load.ts';
import { findingsOf } from '../under-load.ts';
import { watchPauses } from '../watch-pauses.ts';

/** How much more than it can take, and the least of its peak that it may answer with 200 then. */
const FACTOR = 10;
const LEAST_SHARE = 0.8;
const CLIENTS = 64;
const PEAK_DURATION = 5000;
const DURATION = { short: 10_000, long: 60_000 };
/** How long a refusal may take, in ms, if the clients' own process does not stand still meanwhile. */
const AT_ONCE = 1000;

/** As many as ever come, from ten times as many clients: the CPU is what is short, of which the clients take a share. */
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
 * Each plant takes so long in PostgreSQL, in seconds, that a machine can send ten times as many. Not each batch: then what
 * is answered would hang on how full the two of them happen to leave.
 */
const PLANT_TIME = 0.01;
const QUEUE_LIMIT = 30;
const SLOW_DOWN = `
  CREATE FUNCTION slow_down() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(${PLANT_TIME}); RETURN NEW; END $$;
  CREATE TRIGGER slow_down BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION slow_down()`;

export const tenTimesTheRate: Fault = {
  name: 'overload',
  title: `${FACTOR} times as many requests a second as it can take`,
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
  /** `peak` in answers of 200 a second. */
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
    `${connections} connections, ${Math.round(total / seconds)} requests/s, of which ${Math.round(rate)} answered with 200; ` +
      `longest wait for a 200: ${Math.round(ok)} ms, for a 503: ${Math.round(unavailable)} ms; 503 by code: ${JSON.stringify(ledger.codes)}; longest pause of the clients' own process: ${Math.round(pause)} ms`,
  ];
  const broken = [...table.broken, ...[...ledger.surprises.keys()].map((what) => `requests were ${what}`)];
  if (unavailable > AT_ONCE + pause) broken.push(`a refusal took longer than ${AT_ONCE} ms`);
  return { rate, findings: { ...findingsOf(ledger), ...table, notes, broken } };
};

/** The peak is measured before and after, as nobody has a machine to himself. */
const overload = async (world: World, phases: Phases): Promise<Findings> => {
  await phases.peak(PEAK_DURATION / 5); // Until the code is hot.
  const before = await phases.peak(PEAK_DURATION);
  const { rate, findings } = await phases.overload(world.short ? DURATION.short : DURATION.long, before.rate);
  const after = await phases.peak(PEAK_DURATION);
  const share = (2 * rate) / (before.rate + after.rate);
  const isLess = share < LEAST_SHARE ? [`what is answered with 200 fell to ${share.toFixed(2)} of the peak`] : [];
  return {
    ...findings,
    notes: [before, { findings }, after]
      .flatMap((phase) => phase.findings.notes)
      .concat(`share of the peak: ${share.toFixed(2)}`),
    broken: [...findings.broken, ...isLess],
  };
};
