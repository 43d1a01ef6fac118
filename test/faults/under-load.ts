import { setTimeout } from 'node:timers/promises';
import { type LoadOptions, startLoad } from './client-load.ts';
import { compareWithTable } from './compare-with-table.ts';
import type { Findings, World } from './fault.ts';
import type { Ledger } from './ledger.ts';
import { watchPauses } from './watch-pauses.ts';

/** The limits; times in ms. */
type Promises = {
  longestWait: number;
  /** For 503s, if different. */
  longest503?: number;
  /** From the repair to the first 200. */
  recovery: number;
  /** The allowed codes of 503s. Without a 503 with the first code, there was no fault. */
  codes: readonly number[];
  /** Whether requests may get no response, as when the store is killed. */
  mayLoseAnswers?: boolean;
};

type UnderLoad = Omit<LoadOptions, 'token'> & {
  world: World;
  /** Causes a fault and repairs it; resolves after the repair. */
  fault: (ledger: Ledger) => Promise<void>;
  promises: Promises;
};

const WARM_UP = 1500;
/** How long the load continues after the recovery, in ms. */
const AFTERMATH = 1500;
/** How long to wait for the first 200 after the repair, in ms. */
const PATIENCE = 30_000;

/** Runs a fault while clients store plants, and judges the outcome. */
export const underLoad = async ({ world, fault, promises, ...options }: UnderLoad): Promise<Findings> => {
  const load = startLoad({ ...options, token: world.token });
  const { ledger } = load;
  await setTimeout(WARM_UP);
  const endPauses = watchPauses();
  await fault(ledger);
  ledger.markRepaired();
  for (let waited = 0; ledger.recovery() === undefined && waited < PATIENCE; waited += 10) await setTimeout(10);
  await setTimeout(AFTERMATH);
  await load.end();
  const pause = endPauses();
  const table = await compareWithTable(ledger, world.postgres.url, options.plants);
  return {
    ...findingsOf(ledger),
    ...table,
    notes: notesOf(ledger, pause),
    broken: [...table.broken, ...brokenPromises(ledger, promises, pause)],
  };
};

export const findingsOf = (ledger: Ledger) => ({
  sent: Object.values(ledger.counts).reduce((sum, count) => sum + count, 0),
  answers: ledger.counts,
  longestWait: Math.max(...Object.values(ledger.longestWaits)),
  recovery: ledger.recovery(),
});

const notesOf = ({ codes, surprises, longestWaits }: Ledger, pause: number): string[] => [
  `503 by code: ${JSON.stringify(codes)}; longest wait for a 200: ${Math.round(longestWaits.ok)} ms, for a 503: ${Math.round(longestWaits.unavailable)} ms; longest pause of the client process: ${Math.round(pause)} ms`,
  ...[...surprises].map(([what, { count, example }]) => `${count} × ${what}, such as ${example}`),
];

/** @param pause the longest pause of the client process, in ms, for which the store is not responsible */
const brokenPromises = (ledger: Ledger, promises: Promises, pause: number): string[] => {
  const { longestWait } = findingsOf(ledger);
  const { longestWaits } = ledger;
  const recovery = ledger.recovery();
  const codes = Object.keys(ledger.codes).map(Number);
  const unexpected = codes.filter((code) => !promises.codes.includes(code));
  const allowed = promises.mayLoseAnswers ? ['no answer'] : [];
  const surprises = [...ledger.surprises.keys()].filter((what) => !allowed.includes(what));
  const [first] = promises.codes;
  return [
    ...(longestWait > promises.longestWait + pause ? [`a request took longer than ${promises.longestWait} ms`] : []),
    ...(longestWaits.unavailable > (promises.longest503 ?? promises.longestWait) + pause
      ? [`a 503 took longer than ${promises.longest503} ms`]
      : []),
    ...(recovery === undefined ? ['it did not recover'] : []),
    ...(recovery !== undefined && recovery > promises.recovery + pause
      ? [`it took longer than ${promises.recovery} ms to recover`]
      : []),
    ...unexpected.map((code) => `a 503 had code ${code}`),
    ...(first !== undefined && !codes.includes(first) ? [`no 503 had code ${first}, so there was no fault`] : []),
    ...surprises.map((what) => `requests were ${what}`.replace('were no answer', 'got no response')),
  ];
};
