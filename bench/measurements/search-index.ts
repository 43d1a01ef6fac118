/** The search index on names: its creation under load, what it brings to searches, and what it costs writes. */
import { setTimeout as delay } from 'node:timers/promises';
import { BenchError } from '../command.ts';
import type { Figures, Group, Sample } from '../report.ts';
import { measureInRounds, type Task } from '../rounds.ts';
import type { Server } from '../targets/server.ts';
import { type Bench, createPlants, secondsOf, warmUp } from './bench.ts';
import { importOverHttp, writeFiles } from './imports.ts';
import { measurePost } from './posts.ts';

const INDEX = 'plants_name_idx';
const CLIENTS = 16;
const POST_CONNECTIONS = 64;
const MEBIBYTE = 1024 * 1024;
/** Until the load has started, in ms. */
const BUILD_DELAY_MS = 500;
/** The load ends with the build, if not earlier. */
const MAX_BUILD_SECONDS = 3600;
/** Names end with a street and four hexadecimal digits: no match, a few matches, and more than a page of them. */
const QUERIES = ['Yonge St zzzz', 'Yonge St a0f', 'Yonge St'];
const SEARCHES = 5;
const [WITH, WITHOUT] = ['with the search index', 'without'];

export const measureSearchIndex = async (bench: Bench): Promise<Group[]> => {
  const { options, store, signal } = bench;
  const { rounds, seconds, rows } = options;
  await store.run('search-index', 'drop');
  const files = await writeFiles(bench);
  const built = await measureBuild(bench);
  /** The index of an empty table takes no time to create or drop. */
  const withAndWithout = (measure: () => Promise<Figures>): Task[] =>
    [WITH, WITHOUT].map((title) => ({
      title,
      measure: async () => {
        await store.table.reset();
        await store.run('search-index', title === WITH ? 'create' : 'drop');
        return measure();
      },
    }));
  const load = { connections: POST_CONNECTIONS, seconds };
  const groups = [
    {
      title: `Cost of the search index: POST /plants, connections: ${POST_CONNECTIONS}`,
      tasks: withAndWithout(() => measurePost(store, load)),
    },
    {
      title: `Cost of the search index: POST /plants/import, ${rows.toLocaleString('en')} plants`,
      tasks: withAndWithout(() => importOverHttp(store, files, bench)),
    },
  ];
  const costs = await measureInRounds(groups, { rounds, signal });
  await store.run('search-index', 'drop');
  return [...built, ...costs];
};

/** One process, and one table that grows by the plants of the load. */
const measureBuild = async ({ options: { rows, seconds }, store }: Bench): Promise<Group[]> => {
  await using server = await store.open();
  await warmUp(server);
  await store.table.reset('all');
  await store.table.fillTo(rows);
  const load = { connections: CLIENTS, seconds };
  const before = await createPlants(store, server, load);
  const scans = await search(server, WITHOUT);
  let buildSeconds = Number.NaN;
  const build = async () => {
    await delay(BUILD_DELAY_MS);
    buildSeconds = await secondsOf(() => store.run('search-index', 'create'));
  };
  const building = build();
  const loading = createPlants(store, server, { ...load, seconds: MAX_BUILD_SECONDS, until: building });
  const [during] = await Promise.all([loading, building]);
  const lookups = await search(server, WITH);
  const after = await createPlants(store, server, load);
  const size = { 's to build': buildSeconds, MiB: ((await store.table.indexBytes(INDEX)) ?? Number.NaN) / MEBIBYTE };
  const once = (task: string, figures: Figures): Sample => ({ task, round: 1, figures });
  const plants = `${rows.toLocaleString('en')} plants`;
  return [
    {
      title: `POST /plants while the search index is built, ${plants}, connections: ${CLIENTS}`,
      samples: [once('during the build', during), once('before', before), once('after', after)],
      failures: [],
    },
    { title: 'Search index', samples: [once(plants, size)], failures: [] },
    ...QUERIES.map((query) => {
      const samples = [...lookups, ...scans].filter((sample) => sample.query === query);
      return { title: `GET /plants?q=${query}, ${samples[0]?.found} of ${plants}`, samples, failures: [] };
    }),
  ];
};

const search = async (server: Server, task: string) => {
  const samples: (Sample & { query: string; found: number })[] = [];
  for (let round = 1; round <= SEARCHES; round += 1) {
    for (const query of QUERIES) {
      let found = 0;
      const seconds = await secondsOf(async () => {
        const response = await server.get(`/plants?q=${encodeURIComponent(query)}`);
        if (response.status !== 200) throw new BenchError(`answered ${response.status}: ${await response.text()}`);
        found = ((await response.json()) as unknown[]).length;
      });
      samples.push({ query, found, task, round, figures: { ms: seconds * 1000 } });
    }
  }
  return samples;
};
