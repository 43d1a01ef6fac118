import { BenchError } from './bench-error.ts';
import { idsIn, type Read } from './read.ts';

const CONCURRENCY = 64;

/** Sends a GET for a path of the server. */
export type Get = (path: string) => Promise<Response>;

/**
 * Asks many at once, for each read once, and compares each answer with its own request, which wrk cannot.
 * @throws {BenchError} at the first answer that is not 200 with the plants that were asked for
 */
export const verifyReads = async ({ get, reads }: { get: Get; reads: readonly Read[] }): Promise<void> => {
  // One iterator for all: each takes the next.
  const rest = reads.values();
  const verifyRest = async () => {
    for (const read of rest) await verify(get, read);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, verifyRest));
};

const verify = async (get: Get, { path, ids }: Read) => {
  const response = await get(path);
  const body = await response.text();
  if (response.status !== 200) throw new BenchError(`answered ${response.status} to ${path}: ${body.slice(0, 200)}`);
  if (idsIn(body).join() !== ids.join()) throw new BenchError(`answered ${path} with other plants than asked for`);
};
