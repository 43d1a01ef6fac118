import { setTimeout } from 'node:timers/promises';
import { startLoad } from './client-load.ts';
import { compareWithTable } from './compare-with-table.ts';
import type { Findings, World } from './fault.ts';
import type { Ledger } from './ledger.ts';
import { watchPauses } from './watch-pauses.ts';

/** What must hold; times in ms. */
export type Promises = {
  longestWait: number;
  /** Of the requests that are answered with 503, where that is another. */
  longest503?: number;
  /** From the moment that the fault is mended to the first 200. */
  recovery: number;
  /** The codes that may come with 503; at least one of the first code must come, or there was no fault. */
  codes: readonly number[];
  /** Whether a request may be left without an answer, as it is where the store itself is killed. */
  mayLoseAnswers?: boolean;
};

type UnderLoad = {
  world: World;
  /** Where the clients send to. */
  url: string;
  /** Breaks something and mends it again; resolves when it is mended. */
  fault: () => Promise<void>;
  promises: Promises;
};

const WARM_UP = 1500;
/** How long the load goes on after the store has recovered, in ms. */
const AFTERMATH = 1500;
/** How long to wait for the first 200 after the fault is mended, in ms. */
const PATIENCE = 30_000;

/** Runs a fault while 64 clients store plants, and judges what came of them. */
export const underLoad = async ({ world, url, fault, promises }: UnderLoad): Promise<Findings> => {
  const load = startLoad({ url, token: world.token });
  const { ledger } = load;
  await setTimeout(WARM_UP);
  const endPauses = watchPauses();
  await fault();
  ledger.markMended();
  for (let waited = 0; ledger.recovery() === undefined && waited < PATIENCE; waited += 10) await setTimeout(10);
  await setTimeout(AFTERMATH);
  await load.end();
  const pause = endPauses();
  const table = await compareWithTable(ledger, world.postgres.url);
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
  `503 by code: ${JSON.stringify(codes)}; longest wait for a 200: ${Math.round(longestWaits.ok)} ms, for a 503: ${Math.round(longestWaits.unavailable)} ms; longest pause of the clients' own process: ${Math.round(pause)} ms`,
  ...[...surprises].map(([what, { count, example }]) => `${count} × ${what}, such as ${example}`),
];

/** @param pause how long the clients' process itself stood still at most, which is no fault of the store's; in ms */
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
    ...unexpected.map((code) => `503 came with code ${code}`),
    ...(first !== undefined && !codes.includes(first) ? [`no 503 with code ${first} came: there was no fault`] : []),
    ...surprises.map((what) => `requests were ${what}`.replace('were no answer', 'got no answer')),
  ];
};
