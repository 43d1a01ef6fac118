import { setTimeout } from 'node:timers/promises';
import { createLedger } from './ledger.ts';
import type { Plants } from './plants.ts';
import { createPlantClient } from './post-plant.ts';

/** How long a client waits after a failure, in ms: less than Retry-After, to measure the recovery precisely. */
const PAUSE = 50;
/** Every so many requests, a client sends an id that is already stored. */
const REPEAT_EVERY = 20;

export type LoadOptions = {
  url: string;
  token: string;
  /** By default 64. */
  clients?: number | undefined;
  /** By default firs. */
  plants?: Plants | undefined;
  /** Whether clients send some stored ids again; by default true. */
  repeats?: boolean | undefined;
  /** Whether requests have an Idempotency-Key; by default false. */
  keyed?: boolean | undefined;
};

/**
 * Clients that store one plant after another until `end` is called. They retry after 503 and after no response.
 */
export const startLoad = ({ url, token, clients = 64, plants, repeats = true, keyed }: LoadOptions) => {
  const ledger = createLedger();
  let ending = false;

  const run = async () => {
    const client = createPlantClient(url, token, { plants, keyed });
    const toRepeat: number[] = [];
    for (let count = 1; !ending; count++) {
      const repeated = repeats && count % REPEAT_EVERY === 0 ? ledger.someStoredId() : undefined;
      const id = repeated ?? toRepeat.shift() ?? ledger.takeId();
      const { status, code } = await ledger.record(id, client.post);
      if (status === 200 || code === 1004) continue;
      if (repeated === undefined) toRepeat.push(id);
      await setTimeout(PAUSE * (1 + Math.random()));
    }
    client.close();
  };
  const ended = Promise.all(Array.from({ length: clients }, run));

  return {
    ledger,
    end: async () => {
      ending = true;
      await ended;
    },
  };
};
