/** Resident memory of the service: idle, and after half a minute of load. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Figures } from '../report.ts';
import { measureInRounds } from '../rounds.ts';
import { mebibytes } from '../targets/process-tree.ts';
import type { Store } from '../targets/store.ts';
import { type Bench, createPlants } from './bench.ts';

const CONNECTIONS = 64;
/** Until a new process, which has stored one plant, is at rest. */
const IDLE_MS = 2000;
/** 30 s by default. */
const LONGER_THAN_OTHERS = 5;

export const measureMemory = ({ options, stores, signal }: Bench) => {
  const seconds = LONGER_THAN_OTHERS * options.seconds;
  const tasks = stores.map((store) => ({ title: store.title, measure: () => measure(store, seconds) }));
  const title = `Resident memory, ${seconds} s of POST /plants, connections: ${CONNECTIONS}`;
  return measureInRounds([{ title, tasks }], { rounds: options.rounds, signal });
};

const measure = async (store: Store, seconds: number): Promise<Figures> => {
  await store.table.reset('all');
  await using server = await store.open();
  await delay(IDLE_MS);
  const idle = mebibytes('VmRSS', server.pid);
  const { 'peak MiB': peak } = await createPlants(store, server, { connections: CONNECTIONS, seconds });
  return {
    'MiB after the start': idle,
    'MiB after the load': mebibytes('VmRSS', server.pid),
    'peak MiB': peak ?? Number.NaN,
  };
};
