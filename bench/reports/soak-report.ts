import { decimal, mebibytes, rounded, whole } from './format.ts';
import { drawLineChart } from './line-chart.ts';
import { type Context, chartFooter, type Report } from './report.ts';
import { mismatchesOf, type Soak } from './results.ts';

const MEBIBYTE = 1024 * 1024;

export const soakReport = (soak: Soak, { soakMinutes }: { soakMinutes: number }, context: Context): Report => ({
  suffix: '-soak',
  title: 'Memory of Plant Store at full load',
  method: `Memory was sampled each second for ${soakMinutes} min`,
  sections: [
    {
      title: `Memory at full load, 64 connections, ${whole(soak.samples.length)} s`,
      table: [
        ['', 'MiB'],
        ['median of the first fifth', mebibytes(soak.firstFifth)],
        ['median of the last fifth', mebibytes(soak.lastFifth)],
        ['peak', mebibytes(soak.peakMemoryBytes)],
      ],
      lines: [
        `${whole(soak.ok)} plants, ${whole(soak.requestsPerSecond)}/s, p99 ${decimal(soak.p99Milliseconds)} ms`,
        ...mismatchesOf([soak]),
      ],
    },
  ],
  chart: soak.samples.length === 0 ? undefined : soakChart(soak, context),
  data: soak,
});

const soakChart = ({ samples }: Soak, context: Context): string =>
  drawLineChart({
    title: 'Memory of Plant Store at full load, 64 connections',
    footer: chartFooter(context),
    formatX: (seconds) => `${rounded(seconds / 60)} min`,
    panels: [{ title: 'MiB', points: samples.map((bytes, index) => ({ x: index + 1, y: bytes / MEBIBYTE })) }],
  });
