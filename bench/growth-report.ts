import { decimal, mebibytes, ratio, whole } from './format.ts';
import type { GrowthStep } from './growth.ts';
import type { Measurement } from './measure.ts';
import type { Section } from './report.ts';
import type { Soak } from './soak.ts';

const mismatches = (measurements: Measurement[]) => measurements.flatMap(({ mismatch }) => mismatch ?? []);

export const growthSections = (steps: GrowthStep[]): Section[] => {
  const [first] = steps;
  const heading = ['rows before', 'requests/s', '× the first', 'p50 ms', 'p99 ms', '× the first', 'CPU s/10,000'];
  const lines = steps.map((step) => [
    whole(step.rowsBefore),
    whole(step.requestsPerSecond),
    ratio(step.requestsPerSecond, first?.requestsPerSecond),
    decimal(step.p50Milliseconds),
    decimal(step.p99Milliseconds),
    ratio(step.p99Milliseconds, first?.p99Milliseconds),
    decimal(step.cpuSecondsPer10k),
  ]);
  const last =
    'The last line is the emptied table again: what it differs from the first by is the machine, not the rows';
  return [{ title: 'Growth, 64 connections', table: [heading, ...lines], lines: [last, ...mismatches(steps)] }];
};

export const soakSections = (soak: Soak): Section[] => [
  {
    title: `Memory at full load, 64 connections, ${whole(soak.samples.length)} s`,
    table: [
      ['', 'MiB'],
      ['median of the first fifth', mebibytes(soak.firstFifth)],
      ['median of the last fifth', mebibytes(soak.lastFifth)],
      ['peak', mebibytes(soak.peakMemoryBytes)],
    ],
    lines: [
      `${whole(soak.ok)} plants, ${whole(soak.requestsPerSecond)} a second, p99 ${decimal(soak.p99Milliseconds)} ms`,
      ...mismatches([soak]),
    ],
  },
];
