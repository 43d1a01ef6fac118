import type { Result } from './comparison.ts';
import { figuresTable, notOkLines, unavailableLines } from './comparison-report.ts';
import { inConnections, ratio, whole } from './format.ts';
import { PAGE_LIMIT } from './read.ts';
import { READ_ROWS } from './readers.ts';
import { READ_CONNECTIONS, type Reads } from './reads.ts';
import type { Section } from './report.ts';

const where = `${inConnections(READ_CONNECTIONS)}, ${whole(READ_ROWS)} plants (×: a figure as a multiple of Plant Store's)`;

export const readsSections = ({ plants, pages, unavailable }: Reads): Section[] => [
  {
    title: `GET /plants/{id}, at random, ${where}`,
    table: figuresTable(plants),
    lines: [...ratioLines(plants), ...plants.flatMap(notOkLines)],
  },
  {
    title: `GET /plants?limit=${PAGE_LIMIT}&cursor=…, at random, ${where}`,
    table: figuresTable(pages),
    lines: [...ratioLines(pages), ...pages.flatMap(notOkLines)],
  },
  ...(unavailable.length > 0 ? [{ title: 'Not measured', lines: unavailableLines(unavailable) }] : []),
];

/** With as many under way, the time that each takes is the inverse of how many are done in a second. */
const ratioLines = (results: Result[]): string[] => {
  const store = results.find(({ target }) => target === 'store')?.median.requestsPerSecond;
  return results.flatMap(({ target, title, median: { requestsPerSecond } }) => {
    if (target === 'store') return [];
    const [speed, time] = [ratio(store, requestsPerSecond), ratio(requestsPerSecond, store)];
    return [`Plant Store against ${title}: ${speed} the requests/s, ${time} the time for each`];
  });
};
