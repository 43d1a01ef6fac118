import { decimal, mebibytes, ratio, whole } from './format.ts';
import type { GrowthStep } from './growth.ts';
import type { Measurement } from './measure.ts';
import type { Section } from './report.ts';
import type { Soak } from './soak.ts';

const mismatches = (measurements: Measurement[]) => measurements.flatMap(({ mismatch }) => mismatch ?? []);

/** All that was measured of a step. */
export const measurementsOf = ({ afterCheckpoint, rounds }: GrowthStep): Measurement[] => [
  afterCheckpoint,
  ...rounds.grown,
  ...rounds.empty,
];

export const growthSections = (steps: GrowthStep[]): Section[] => {
  const heading = [
    'rows before',
    'requests/s',
    'p50 ms',
    'p99 ms',
    'CPU s/10,000',
    'empty table: requests/s',
    'p99 ms',
    '× the empty table',
    'just after a checkpoint: requests/s',
    'p99 ms',
  ];
  const lines = steps.map(({ rowsBefore, median: { grown, empty }, ofEmpty, afterCheckpoint }) => [
    whole(rowsBefore),
    whole(grown.requestsPerSecond),
    decimal(grown.p50Milliseconds),
    decimal(grown.p99Milliseconds),
    decimal(grown.cpuSecondsPer10k),
    whole(empty.requestsPerSecond),
    decimal(empty.p99Milliseconds),
    ratio(ofEmpty, 1),
    whole(afterCheckpoint.requestsPerSecond),
    decimal(afterCheckpoint.p99Milliseconds),
  ]);
  const explanation = [
    'The empty table is that of a second store, loaded in turns with the first; × is the median of the rounds.',
    'At 0 rows the two are alike: what × differs from 1 by is the error of the measurement.',
  ];
  const wrong = mismatches(steps.flatMap(measurementsOf));
  return [{ title: 'Growth, 64 connections', table: [heading, ...lines], lines: [...explanation, ...wrong] }];
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
