/** Reads of single plants and of pages: the store compared with Express and Prisma. */
import { BenchError } from '../command.ts';
import type { PlantsTable } from '../database/plants-table.ts';
import type { Target } from '../load/load.ts';
import type { Figures } from '../report.ts';
import { measureInRounds } from '../rounds.ts';
import { createPeer } from '../targets/peers.ts';
import type { Server } from '../targets/server.ts';
import { type Bench, figuresOf } from './bench.ts';

const ROWS = 100_000;
const PAGE_LIMIT = 100;
const FIRST_PAGE = `/plants?limit=${PAGE_LIMIT}`;
const CONNECTIONS = 64;
/** V8 optimizes the code of a page for some ten seconds. */
const WARM_UP_SECONDS = 10;
/** One of so many plants is verified before the measurement, and every page. */
const PLANTS_PER_VERIFIED = 50;

type Paths = { plants: string[]; pages: string[] };

/** The paths of all pages, in the order of the ids. */
type FindPages = (server: Server, ids: string[]) => Promise<string[]> | string[];

export const measureReads = async (bench: Bench) => {
  const { options, stores, signal } = bench;
  const readers: { target: Target<Server>; findPages: FindPages }[] = stores.map((target) => ({
    target,
    findPages: followLinks,
  }));
  const peer = createPeer('express-prisma', 'Express and Prisma', bench);
  if (!options.compare) readers.push({ target: peer, findPages: pagesById });
  const prepared: { target: Target<Server>; paths: Paths }[] = [];
  for (const { target, findPages } of readers) prepared.push({ target, paths: await prepare(target, findPages) });
  const group = (title: string, kind: keyof Paths) => ({
    title: `GET ${title}, ${ROWS.toLocaleString('en')} plants, connections: ${CONNECTIONS}`,
    tasks: prepared.map(({ target, paths }) => ({
      title: target.title,
      measure: () => measureRead(target, paths[kind], options.seconds),
    })),
  });
  const groups = [group('/plants/{id}', 'plants'), group(FIRST_PAGE, 'pages')];
  return measureInRounds(groups, { rounds: options.rounds, signal });
};

const measureRead = async (target: Target<Server>, paths: string[], seconds: number): Promise<Figures> => {
  await using server = await target.open();
  await server.load({ connections: CONNECTIONS, seconds: WARM_UP_SECONDS, paths });
  const result = await server.load({ connections: CONNECTIONS, seconds, paths });
  if (result.ok === 0 || result.notOk > 0) throw new BenchError(`${result.notOk} answers were not 200`);
  return figuresOf(result);
};

/** Fills the table and verifies the answers. @throws {BenchError} at a wrong one */
const prepare = async (target: Target<Server>, findPages: FindPages): Promise<Paths> => {
  // First, because a server stores a plant as it starts.
  await using server = await target.open();
  const ids = await fill(target.table);
  const plants = ids.map((id) => `/plants/${id}`);
  const pages = await findPages(server, ids);
  await verify(server, pages, ids);
  const isVerified = (_: string, index: number) => index % PLANTS_PER_VERIFIED === 0;
  await verify(server, plants.filter(isVerified), ids.filter(isVerified));
  return { plants, pages };
};

const fill = async (table: PlantsTable) => {
  await table.reset('all');
  await table.fillTo(ROWS);
  return table.ids();
};

/** Clients cannot construct the store's cursors: they follow `Link` (RFC 8288). */
const followLinks = async (server: Server): Promise<string[]> => {
  const paths: string[] = [];
  for (let next: string | undefined = FIRST_PAGE; next !== undefined; ) {
    paths.push(next);
    const response: Response = await server.get(next);
    await response.text();
    const link: string | undefined = /<([^>]*)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
    const url: URL | undefined = link === undefined ? undefined : new URL(link, `http://store${next}`);
    next = url && url.pathname + url.search;
  }
  return paths;
};

const pagesById: FindPages = (_server, ids) => {
  const lastIds = ids.filter((_, index) => (index + 1) % PAGE_LIMIT === 0 && index + 1 < ids.length);
  return [FIRST_PAGE, ...lastIds.map((id) => `${FIRST_PAGE}&cursor=${id}`)];
};

const verify = async (server: Server, paths: string[], expected: string[]) => {
  const ids: string[] = [];
  for (const path of paths) {
    const body = await (await server.get(path)).text();
    // Every digit of each id, which is a number, or a string if the server's JSON has no int64.
    for (const [, id] of body.matchAll(/"id":"?(-?\d+)/g)) ids.push(id as string);
  }
  if (ids.join() !== expected.join()) throw new BenchError(`answered ${paths[0]} and the like with the wrong plants`);
};
