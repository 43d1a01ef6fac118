import { describeRounds, figuresTable, notOkLines, unavailableSection } from './comparison-report.ts';
import { inConnections, multiple, whole } from './format.ts';
import type { Report, Section } from './report.ts';
import type { Reads, Result } from './results.ts';

export const readsReport = (reads: Reads, method: Parameters<typeof describeRounds>[0]): Report => {
  const { connections, rows, pageLimit, plants, pages, unavailable } = reads;
  const toSection = (path: string, results: Result[]): Section => ({
    title: `GET ${path}, random, ${inConnections(connections)}, ${whole(rows)} plants (×: multiple of Plant Store's)`,
    table: figuresTable(results),
    lines: [...comparisonLines(results), ...notOkLines(results)],
  });
  return {
    suffix: '-reads',
    title: 'Reads of Plant Store and its peers',
    method: describeRounds(method),
    sections: [
      toSection('/plants/{id}', plants),
      toSection(`/plants?limit=${pageLimit}&cursor=…`, pages),
      ...unavailableSection(unavailable),
    ],
    data: reads,
  };
};

/** With the same concurrency, the time per request is the inverse of the requests per second. */
const comparisonLines = (results: Result[]): string[] => {
  const store = results.find(({ target }) => target === 'store')?.median.requestsPerSecond;
  return results.flatMap(({ target, title, median: { requestsPerSecond } }) =>
    target === 'store'
      ? []
      : [
          `Plant Store compared with ${title}: ${multiple(store, requestsPerSecond)} the requests/s, ` +
            `${multiple(requestsPerSecond, store ?? 0)} the time per request`,
        ],
  );
};
