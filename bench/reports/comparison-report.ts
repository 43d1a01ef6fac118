import { drawBarChart } from './bar-chart.ts';
import { decimal, inConnections, mebibytes, multiple, whole } from './format.ts';
import { type Context, chartFooter, type Report, type Section } from './report.ts';
import {
  type Comparison,
  countNotOk,
  type Figures,
  type Measurement,
  type Result,
  type Unavailable,
} from './results.ts';
import type { TextTable } from './text-table.ts';

const PREFERRED_CHART_CONNECTIONS = 64;

type Method = { rounds: number; seconds: number; quietPeers: boolean };

export const comparisonReport = (comparison: Comparison, method: Method, context: Context): Report => ({
  suffix: '',
  title: 'Plant Store and its peers',
  method: describeRounds(method),
  sections: [...tables(comparison.results), ...ratios(comparison.results), ...problems(comparison)],
  chart: comparisonChart(comparison.results, context),
  data: comparison,
});

export const describeRounds = ({ rounds, seconds, quietPeers }: Method): string =>
  `${seconds} s per measurement; figures are medians of ${rounds} rounds; peers' logs: ${quietPeers ? 'off' : 'on'}`;

const tables = (results: Result[]): Section[] =>
  [...Map.groupBy(results, ({ connections }) => connections)].map(([connections, rows]) => ({
    title: `${inConnections(connections)} (×: multiple of Plant Store's)`,
    table: figuresTable(rows),
  }));

type Figure = { title: string; of: (figures: Figures) => number | undefined; format: (value?: number) => string };

const figures: Figure[] = [
  { title: 'requests/s', of: ({ requestsPerSecond }) => requestsPerSecond, format: whole },
  { title: 'p50 ms', of: ({ p50Milliseconds }) => p50Milliseconds, format: decimal },
  { title: 'p99 ms', of: ({ p99Milliseconds }) => p99Milliseconds, format: decimal },
  { title: 'CPU s/10,000', of: ({ cpuSecondsPer10k }) => cpuSecondsPer10k, format: decimal },
  { title: 'peak MiB', of: ({ peakMemoryBytes }) => peakMemoryBytes, format: mebibytes },
];

/** One line per target, with each figure also as a multiple of the store's. */
export const figuresTable = (rows: Result[]): TextTable => {
  const store = rows.find(({ target }) => target === 'store')?.median;
  const heading = ['', 'indexes', ...figures.flatMap(({ title }) => [title, '×']), 'min to max requests/s', 'not 200'];
  const lines = rows.map(({ title, indexes, median, rounds }) => [
    title,
    indexes,
    ...figures.flatMap(({ of, format }) => [format(of(median)), multiple(of(median), (store && of(store)) ?? 0)]),
    rangeOf(rounds),
    whole(rounds.reduce((sum, round) => sum + countNotOk(round), 0)),
  ]);
  return [heading, ...lines];
};

const rangeOf = (rounds: Measurement[]): string => {
  const speeds = rounds.map(({ requestsPerSecond }) => requestsPerSecond);
  return `${whole(Math.min(...speeds))} to ${whole(Math.max(...speeds))}`;
};

type Ratio = { title: string; figure: 'requestsPerSecond' | 'p99Milliseconds'; base: string };

/** What the store is judged by. All peers have the primary key only. */
const judgedRatios: Ratio[] = [
  { title: 'requests/s ÷ Fastify and pg', figure: 'requestsPerSecond', base: 'fastify-pg' },
  { title: '÷ Express and Prisma', figure: 'requestsPerSecond', base: 'express-prisma' },
  { title: '÷ itself, primary key only', figure: 'requestsPerSecond', base: 'store-primary-key' },
  { title: 'p99 ÷ Fastify and pg', figure: 'p99Milliseconds', base: 'fastify-pg' },
];

/** One line per number of connections, with the ratios whose targets were measured. */
const ratios = (results: Result[]): Section[] => {
  const measured = new Set(results.map(({ target }) => target));
  const columns = judgedRatios.filter(({ base }) => measured.has(base));
  if (!measured.has('store') || columns.length === 0) return [];
  const lines = [...Map.groupBy(results, ({ connections }) => connections)].map(([connections, rows]) => {
    const read = (id: string, figure: Ratio['figure']) => rows.find(({ target }) => target === id)?.median[figure];
    const cells = columns.map(({ figure, base }) => multiple(read('store', figure), read(base, figure) ?? 0));
    return [inConnections(connections), ...cells];
  });
  return [{ title: 'Ratios of Plant Store', table: [['', ...columns.map(({ title }) => title)], ...lines] }];
};

const problems = ({ results, unavailable }: Comparison): Section[] => {
  const mismatches = linesOf(results, ({ mismatch }) => mismatch);
  return [
    ...unavailableSection(unavailable),
    ...(mismatches.length > 0 ? [{ title: 'Failed: rows and answers differ', lines: mismatches }] : []),
    ...(notOkLines(results).length > 0 ? [{ title: 'Answers other than 200', lines: notOkLines(results) }] : []),
  ];
};

/** A reason that repeats in each round is listed once. */
export const unavailableSection = (unavailable: Unavailable[]): Section[] => {
  const reasons = Map.groupBy(unavailable, ({ title, reason }) => `${title}: ${reason}`);
  const lines = [...reasons].map(([text, list]) => `${text} (round ${list.map(({ round }) => round).join(', ')})`);
  return lines.length > 0 ? [{ title: 'Not measured', lines }] : [];
};

export const notOkLines = (results: Result[]): string[] =>
  linesOf(results, ({ notOk, socketErrors }) => {
    const counts = Object.entries(notOk).map(([status, count]) => `${count} with ${status}`);
    if (socketErrors > 0) counts.push(`${socketErrors} without an answer within 10 s`);
    return counts.join(', ');
  });

/** One line per round that has something to say. */
const linesOf = (results: Result[], describe: (round: Measurement) => string | undefined): string[] =>
  results.flatMap(({ title, connections, rounds }) =>
    rounds.flatMap((round) => {
      const text = describe(round);
      return text ? [`${title}, ${inConnections(connections)}, round ${round.round}: ${text}`] : [];
    }),
  );

/** At 64 connections if they were measured, else at the highest number. */
const comparisonChart = (results: Result[], context: Context): string | undefined => {
  const measured = results.map(({ connections }) => connections);
  const connections = measured.includes(PREFERRED_CHART_CONNECTIONS)
    ? PREFERRED_CHART_CONNECTIONS
    : Math.max(...measured);
  const bars = results
    .filter((result) => result.connections === connections)
    .map(({ target, title, median }) => ({
      label: title,
      value: median.requestsPerSecond,
      text: whole(median.requestsPerSecond),
      highlighted: target === 'store',
    }))
    .sort((a, b) => b.value - a.value);
  if (bars.length === 0) return undefined;
  const title = `POST /plants: requests per second, ${inConnections(connections)}`;
  return drawBarChart({ title, footer: chartFooter(context), bars });
};
