import { BenchError } from './bench-error.ts';
import { idsIn, type Read } from './read.ts';
import type { Get } from './verify-reads.ts';

/**
 * Every page of the store's list, followed by `Link` alone (RFC 8288): a cursor means nothing to a client.
 * @throws {BenchError} at an answer other than 200
 */
export const walkPages = async ({ get, path }: { get: Get; path: string }): Promise<Read[]> => {
  const pages: Read[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const response: Response = await get(next);
    const body = await response.text();
    if (response.status !== 200) throw new BenchError(`answered ${response.status} to ${next}: ${body.slice(0, 200)}`);
    pages.push({ path: next, ids: idsIn(body) });
    next = /<([^>]*)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
  }
  return pages;
};
