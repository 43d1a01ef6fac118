import type { Comparison, Result, Unavailable } from './comparison.ts';
import { decimal, inConnections, mebibytes, ratio, whole } from './format.ts';
import type { Figures, Measurement } from './measure.ts';
import type { Options } from './options.ts';
import type { Section } from './report.ts';
import type { TextTable } from './text-table.ts';

type Figure = { title: string; of: (figures: Figures) => number | undefined; format: (value?: number) => string };

const figures: Figure[] = [
  { title: 'requests/s', of: ({ requestsPerSecond }) => requestsPerSecond, format: whole },
  { title: 'p50 ms', of: ({ p50Milliseconds }) => p50Milliseconds, format: decimal },
  { title: 'p99 ms', of: ({ p99Milliseconds }) => p99Milliseconds, format: decimal },
  { title: 'CPU s/10,000', of: ({ cpuSecondsPer10k }) => cpuSecondsPer10k, format: decimal },
  { title: 'peak MiB', of: ({ peakMemoryBytes }) => peakMemoryBytes, format: mebibytes },
];

/** A table for each number of connections, then what is wrong or missing. */
export const comparisonSections = (comparison: Comparison, options: Options): Section[] => [
  ...options.connections.map((connections) => toSection(comparison.results, connections)),
  ...problems(comparison),
];

const toSection = (results: Result[], connections: number): Section => ({
  title: `${inConnections(connections)} (×: a figure as a multiple of Plant Store's)`,
  table: figuresTable(results.filter((result) => result.connections === connections)),
});

/** A line for each target, with its figures as multiples of the store's. */
export const figuresTable = (rows: Result[]): TextTable => {
  const store = rows.find(({ target }) => target === 'store')?.median;
  const heading = ['', ...figures.flatMap(({ title }) => [title, '×']), 'min to max requests/s', 'not 200'];
  const lines = rows.map(({ title, median, rounds }) => [
    title,
    ...figures.flatMap(({ of, format }) => [format(of(median)), ratio(of(median), store && of(store))]),
    rangeOf(rounds),
    whole(rounds.reduce((sum, round) => sum + countNotOk(round), 0)),
  ]);
  return [heading, ...lines];
};

const rangeOf = (rounds: Measurement[]): string => {
  const speeds = rounds.map(({ requestsPerSecond }) => requestsPerSecond);
  return `${whole(Math.min(...speeds))} to ${whole(Math.max(...speeds))}`;
};

export const countNotOk = ({ notOk, socketErrors }: Measurement): number =>
  Object.values(notOk).reduce((sum, count) => sum + count, socketErrors);

const problems = ({ results, unavailable }: Comparison): Section[] => {
  const sections = [
    { title: 'Not measured', lines: unavailableLines(unavailable) },
    { title: 'Rows that do not match the answers: the run failed', lines: results.flatMap(mismatchLines) },
    { title: 'Answers other than 200', lines: results.flatMap(notOkLines) },
  ];
  return sections.filter(({ lines }) => lines.length > 0);
};

/** The same reason in each round is said once. */
export const unavailableLines = (unavailable: Unavailable[]): string[] => {
  const rounds = Map.groupBy(unavailable, ({ title, reason }) => `${title}: ${reason}`);
  return [...rounds].map(([text, list]) => `${text} (round ${list.map(({ round }) => round).join(', ')})`);
};

const mismatchLines = ({ title, connections, rounds }: Result): string[] =>
  rounds.flatMap(({ round, mismatch }) =>
    mismatch ? [`${title}, ${inConnections(connections)}, round ${round}: ${mismatch}`] : [],
  );

export const notOkLines = ({ title, connections, rounds }: Result): string[] =>
  rounds.flatMap(({ round, notOk, socketErrors }) => {
    const counts = Object.entries(notOk).map(([status, count]) => `${count} with ${status}`);
    if (socketErrors > 0) counts.push(`${socketErrors} without an answer within 10 s`);
    return counts.length > 0 ? [`${title}, ${inConnections(connections)}, round ${round}: ${counts.join(', ')}`] : [];
  });
