import { BenchError } from '../processes/bench-error.ts';

/** Plants on a page. */
export const PAGE_LIMIT = 100;
const VERIFY_CONCURRENCY = 64;

/** A GET request and the ids of the plants it must return, in order. */
export type Read = { path: string; ids: string[] };

/** The ids of a page, and the id before them. */
export type Page = { after: string; ids: string[] };

/** Sends a GET request to a path of a server. */
export type Get = (path: string) => Promise<Response>;

/** Every id in the text of a JSON body, in order and with every digit. An id is a number or a string. */
export const idsIn = (json: string): string[] => [...json.matchAll(/"id":"?(-?\d+)/g)].map(([, id]) => id as string);

/**
 * Sends each read once, 64 at a time, and compares the answer with its own request, which wrk cannot do.
 * @throws {BenchError} at the first answer that is not 200 with the expected plants
 */
export const verifyReads = async (get: Get, reads: readonly Read[]): Promise<void> => {
  // One iterator for all workers: each takes the next read.
  const remaining = reads.values();
  const verifyRemaining = async () => {
    for (const { path, ids } of remaining) {
      const { body } = await getOk(get, path);
      if (idsIn(body).join() !== ids.join()) throw new BenchError(`answered ${path} with the wrong plants`);
    }
  };
  await Promise.all(Array.from({ length: VERIFY_CONCURRENCY }, verifyRemaining));
};

/**
 * Every page of a list, by following `Link` (RFC 8288): clients cannot construct the store's cursors.
 * @throws {BenchError} at an answer other than 200
 */
export const followPages = async (get: Get, path: string): Promise<Read[]> => {
  const pages: Read[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const { body, link }: Awaited<ReturnType<typeof getOk>> = await getOk(get, next);
    pages.push({ path: next, ids: idsIn(body) });
    next = /<([^>]*)>; rel="next"/.exec(link)?.[1];
  }
  return pages;
};

const getOk = async (get: Get, path: string) => {
  const response = await get(path);
  const body = await response.text();
  if (response.status !== 200) throw new BenchError(`answered ${response.status} to ${path}: ${body.slice(0, 200)}`);
  return { body, link: response.headers.get('Link') ?? '' };
};
