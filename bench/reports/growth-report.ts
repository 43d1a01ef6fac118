import { decimal, multiple, rounded, whole } from './format.ts';
import { drawLineChart } from './line-chart.ts';
import { type Context, chartFooter, type Report } from './report.ts';
import { countNotOk, type GrowthStep, measurementsOf, mismatchesOf } from './results.ts';
import type { TextTable } from './text-table.ts';

export const growthReport = (steps: GrowthStep[], { seconds }: { seconds: number }, context: Context): Report => ({
  suffix: '-growth',
  title: 'Plant Store as its table grows',
  method: `Each step was measured for ${seconds} s just after a checkpoint, then in ${steps[0]?.rounds.length} rounds`,
  sections: [
    {
      title: 'Growth, 64 connections, alternating with a second store whose table is empty',
      table: alternatingTable(steps),
      lines: [
        '× is the median of the rounds. At 0 rows both tables are empty, so any difference from 1 is noise.',
        ...mismatchesOf(steps.flatMap(measurementsOf)),
      ],
    },
    {
      title: 'Just after a checkpoint: one measurement each',
      table: checkpointTable(steps),
      lines: ['× compares with the median of the empty table in the rounds that follow.'],
    },
  ],
  chart: growthChart(steps, context),
  data: { steps },
});

type Column = [title: string, of: (step: GrowthStep) => string];

const toTable = (columns: Column[], steps: GrowthStep[]): TextTable => [
  columns.map(([title]) => title),
  ...steps.map((step) => columns.map(([, of]) => of(step))),
];

const rowsBefore: Column = ['rows before', (step) => whole(step.rowsBefore)];

const alternatingTable = (steps: GrowthStep[]): TextTable => {
  const notOk = (step: GrowthStep) => measurementsOf(step).reduce((sum, measured) => sum + countNotOk(measured), 0);
  const columns: Column[] = [
    rowsBefore,
    ['requests/s', ({ median }) => whole(median.grown.requestsPerSecond)],
    ['p50 ms', ({ median }) => decimal(median.grown.p50Milliseconds)],
    ['p99 ms', ({ median }) => decimal(median.grown.p99Milliseconds)],
    ['CPU s/10,000', ({ median }) => decimal(median.grown.cpuSecondsPer10k)],
    ['WAL bytes per plant', ({ median }) => whole(median.logBytesPerPlant)],
    ['empty: requests/s', ({ median }) => whole(median.empty.requestsPerSecond)],
    ['empty: p99 ms', ({ median }) => decimal(median.empty.p99Milliseconds)],
    ['× the empty table', ({ median }) => multiple(median.ofEmpty)],
    ['min to max', rangeOf],
    ['not 200', (step) => whole(notOk(step))],
  ];
  return toTable(columns, steps);
};

const checkpointTable = (steps: GrowthStep[]): TextTable => {
  const speed = ({ afterCheckpoint }: GrowthStep) => afterCheckpoint.requestsPerSecond;
  const columns: Column[] = [
    rowsBefore,
    ['requests/s', (step) => whole(speed(step))],
    ['× the empty table', (step) => multiple(speed(step), step.median.empty.requestsPerSecond)],
    ['p99 ms', ({ afterCheckpoint }) => decimal(afterCheckpoint.p99Milliseconds)],
    ['WAL bytes per plant', ({ afterCheckpoint }) => whole(afterCheckpoint.logBytesPerPlant)],
  ];
  return toTable(columns, steps);
};

const rangeOf = ({ rounds }: GrowthStep): string => {
  const multiples = rounds.map(({ ofEmpty }) => ofEmpty);
  return `${multiple(Math.min(...multiples))} to ${multiple(Math.max(...multiples))}`;
};

const growthChart = (steps: GrowthStep[], context: Context): string => {
  const points = (of: (step: GrowthStep) => number) => steps.map((step) => ({ x: step.rowsBefore, y: of(step) }));
  return drawLineChart({
    title: 'Plant Store as its table grows, 64 connections',
    footer: chartFooter(context),
    formatX: (rows) => `${rounded(rows / 1e6)} M rows`,
    panels: [
      { title: 'requests/s', points: points(({ median }) => median.grown.requestsPerSecond) },
      {
        title: 'requests/s, as a multiple of those on an empty table',
        points: points(({ median }) => median.ofEmpty ?? 0),
      },
      { title: 'p99, ms', points: points(({ median }) => median.grown.p99Milliseconds) },
    ],
  });
};
