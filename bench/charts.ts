/** The pictures of a report. */
import { drawBarChart } from './bar-chart.ts';
import type { Comparison } from './comparison.ts';
import { inConnections, rounded, whole } from './format.ts';
import type { GrowthStep } from './growth.ts';
import { drawLineChart } from './line-chart.ts';
import type { Context } from './report.ts';
import type { Soak } from './soak.ts';

const PREFERRED_CONNECTIONS = 64;
const MEBIBYTE = 1024 * 1024;

const footer = ({ machine, date, versions }: Context) =>
  `${machine.cpu}, ${machine.cores} cores · Node ${versions.node} · ${date.slice(0, 10)}`;

/** At 64 connections, or at the most of what was measured. */
export const comparisonChart = ({ results }: Comparison, context: Context): string | undefined => {
  const measured = context.options.connections;
  const connections = measured.includes(PREFERRED_CONNECTIONS) ? PREFERRED_CONNECTIONS : (measured.at(-1) as number);
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
  const title = `POST /plants: requests a second, ${inConnections(connections)}`;
  return drawBarChart({ title, footer: footer(context), bars });
};

export const growthChart = (steps: GrowthStep[], context: Context): string => {
  const points = (of: (step: GrowthStep) => number) => steps.map((step) => ({ x: step.rowsBefore, y: of(step) }));
  return drawLineChart({
    title: 'Plant Store while its table grows, 64 connections',
    footer: footer(context),
    formatX: (rows) => `${rounded(rows / 1e6)} M rows`,
    panels: [
      { title: 'requests/s', points: points(({ median }) => median.grown.requestsPerSecond), formatY: rounded },
      {
        title: 'requests/s, times those on an empty table in turns with it',
        points: points(({ median }) => median.ofEmpty ?? 0),
        formatY: rounded,
      },
      { title: 'p99, ms', points: points(({ median }) => median.grown.p99Milliseconds), formatY: rounded },
    ],
  });
};

export const soakChart = (soak: Soak, context: Context): string | undefined =>
  soak.samples.length === 0
    ? undefined
    : drawLineChart({
        title: 'Memory of Plant Store at full load, 64 connections',
        footer: footer(context),
        formatX: (seconds) => `${rounded(seconds / 60)} min`,
        panels: [
          {
            title: 'MiB',
            points: soak.samples.map((bytes, index) => ({ x: index + 1, y: bytes / MEBIBYTE })),
            formatY: rounded,
          },
        ],
      });
