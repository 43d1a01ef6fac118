import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import type { Fault, Findings, World } from '../fault.ts';
import type { Store } from '../store.ts';

const STORES = 3;
const CLIENTS = 24;
/** One in so many kills is of PostgreSQL. */
const POSTGRES_EVERY = 50;
/** How long a store runs between kills, in ms, at most. */
const INTERVAL = 400;
/** How long a request may be repeated without an answer, in ms. */
const PATIENCE = 60_000;
const RETRY_PAUSE = 30;

type Answer = { status: number; text: string; isReplayed: boolean };

export const retriesWithKeys: Fault = {
  name: 'retries-with-keys',
  title: 'three stores and PostgreSQL: kill -9 at random, retries with Idempotency-Key',
  run: async (world) => {
    const kills = world.short ? 12 : 500;
    const stores = await Promise.all(Array.from({ length: STORES }, () => world.startStore()));
    const load = startLoad(stores, world.token);
    await killAtRandom(world, stores, kills);
    const plants = await load.end();
    return judge(plants, await storedIds(world.postgres.url), load, kills);
  },
};

const killAtRandom = async ({ postgres, say }: World, stores: Store[], kills: number) => {
  let killed = 0;
  const killOne = async (store: Store) => {
    while (killed < kills) {
      const number = ++killed;
      if (number % POSTGRES_EVERY === 0) say(`${number} kills`);
      await setTimeout(Math.random() * INTERVAL);
      if (number % POSTGRES_EVERY === POSTGRES_EVERY / 2 || number === kills) {
        await postgres.kill();
        await postgres.start();
      }
      await store.kill();
      await store.start();
    }
  };
  await Promise.all(stores.map(killOne));
};

/** Clients that create plants, delete some, and repeat each request with its key until it is answered, and sometimes after. */
const startLoad = (stores: Store[], token: string) => {
  const plants = new Map<number, { isDeleted: boolean }>();
  const counts = { ok: 0, taken: 0, unavailable: 0, other: 0, none: 0 };
  const broken = new Map<string, number>();
  let [isEnding, nextId, replays, longestWait] = [false, 1, 0, 0];

  const note = (what: string) => broken.set(what, (broken.get(what) ?? 0) + 1);

  const send = async (method: string, id: number, key: string): Promise<Answer | undefined> => {
    const store = stores[Math.floor(Math.random() * stores.length)] as Store;
    const startedAt = performance.now();
    try {
      const response = await fetch(`${store.url}/plants${method === 'POST' ? '' : `/${id}`}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
        signal: AbortSignal.timeout(PATIENCE),
        ...(method === 'POST' && { body: JSON.stringify({ id, name: `Fir ${id}` }) }),
      });
      const text = await response.text();
      longestWait = Math.max(longestWait, performance.now() - startedAt);
      const { status } = response;
      if (status === 503 || status === 409) counts.unavailable++;
      else if (status === 200 || status === 204) counts.ok++;
      else counts.other++;
      if (status === 503 || status === 409) return undefined;
      return { status, text, isReplayed: response.headers.get('Idempotent-Replayed') === 'true' };
    } catch {
      counts.none++;
      return undefined;
    }
  };

  /** Repeats a request until it is answered. */
  const settle = async (method: string, id: number, key: string): Promise<Answer | undefined> => {
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      const answer = await send(method, id, key);
      if (answer?.isReplayed) replays++;
      if (answer) return answer;
      if (performance.now() > deadline) {
        note('a key is stuck: no answer');
        return undefined;
      }
      await setTimeout(RETRY_PAUSE * Math.random());
    }
  };

  /** The request, and some repetitions. */
  const change = async (method: string, id: number, expected: number) => {
    const key = `${method}-${id}-${Math.random()}`;
    const first = await settle(method, id, key);
    if (first && first.status !== expected) note(`${method}: ${first.status} ${first.text.replace(/\d{2,}/g, 'n')}`);
    const again = async () => {
      const answer = await settle(method, id, key);
      if (first && answer && (answer.text !== first.text || answer.status !== first.status))
        note(`${method}: another answer: ${answer.status}`);
      if (answer && !answer.isReplayed) note(`${method}: carried out twice`);
    };
    for (let repeat = Math.floor(Math.random() * 3); repeat > 0; repeat--) await again();
    return again;
  };

  const run = async () => {
    while (!isEnding) {
      const id = nextId++;
      const createAgain = await change('POST', id, 200);
      plants.set(id, { isDeleted: false });
      if (Math.random() > 0.25) continue;
      await change('DELETE', id, 204);
      plants.set(id, { isDeleted: true });
      await createAgain();
    }
  };
  const ended = Promise.all(Array.from({ length: CLIENTS }, run));
  return {
    counts,
    broken,
    replays: () => replays,
    longestWait: () => longestWait,
    end: async () => {
      isEnding = true;
      await ended;
      return plants;
    },
  };
};

const judge = (
  plants: Map<number, { isDeleted: boolean }>,
  stored: Set<number>,
  load: ReturnType<typeof startLoad>,
  kills: number,
): Findings => {
  const ids = [...plants];
  const lost = ids.filter(([id, { isDeleted }]) => !isDeleted && !stored.has(id)).length;
  const doubled = ids.filter(([id, { isDeleted }]) => isDeleted && stored.has(id)).length;
  const unknown = [...stored].filter((id) => !plants.has(id)).length;
  const broken = [...load.broken].map(([what, count]) => `${count} × ${what}`);
  if (lost > 0) broken.push(`${lost} plants are lost`);
  if (doubled > 0) broken.push(`${doubled} deleted plants came back`);
  if (unknown > 0) broken.push(`${unknown} plants are stored that were never answered`);
  if (load.replays() === 0) broken.push('no answer was repeated, so there was no fault');
  const { counts } = load;
  return {
    sent: Object.values(counts).reduce((sum, count) => sum + count, 0),
    answers: counts,
    stored: stored.size,
    lost,
    doubled,
    longestWait: load.longestWait(),
    notes: [`${kills} kills, ${plants.size} plants created and ${load.replays()} answers repeated`],
    broken,
  };
};

const storedIds = async (url: string): Promise<Set<number>> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return new Set((await client.query('SELECT id FROM plants')).rows.map(({ id }) => Number(id)));
  } finally {
    await client.end();
  }
};
