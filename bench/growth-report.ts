import { countNotOk } from './comparison-report.ts';
import { decimal, mebibytes, ratio, whole } from './format.ts';
import { type GrowthStep, measurementsOf } from './growth.ts';
import type { Measurement } from './measure.ts';
import type { Section } from './report.ts';
import type { Soak } from './soak.ts';

const mismatches = (measurements: Measurement[]) => measurements.flatMap(({ mismatch }) => mismatch ?? []);

export const growthSections = (steps: GrowthStep[]): Section[] => {
  const inTurns = [
    [
      'rows before',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'CPU s/10,000',
      'log, bytes a plant',
      'empty: requests/s',
      'empty: p99 ms',
      '× the empty table',
      'min to max',
      'not 200',
    ],
    ...steps.map((step) => [
      whole(step.rowsBefore),
      whole(step.median.grown.requestsPerSecond),
      decimal(step.median.grown.p50Milliseconds),
      decimal(step.median.grown.p99Milliseconds),
      decimal(step.median.grown.cpuSecondsPer10k),
      whole(step.median.logBytesPerPlant),
      whole(step.median.empty.requestsPerSecond),
      decimal(step.median.empty.p99Milliseconds),
      multiple(step.median.ofEmpty),
      rangeOf(step),
      whole(measurementsOf(step).reduce((sum, measurement) => sum + countNotOk(measurement), 0)),
    ]),
  ];
  const afterCheckpoint = [
    ['rows before', 'requests/s', '× the empty table', 'p99 ms', 'log, bytes a plant'],
    ...steps.map(({ rowsBefore, afterCheckpoint: measured, median }) => [
      whole(rowsBefore),
      whole(measured.requestsPerSecond),
      ratio(measured.requestsPerSecond, median.empty.requestsPerSecond),
      decimal(measured.p99Milliseconds),
      whole(measured.logBytesPerPlant),
    ]),
  ];
  return [
    {
      title: 'Growth, 64 connections: in turns with a second store, whose table is empty at the beginning of each turn',
      table: inTurns,
      lines: [
        '× is the median of the rounds. At 0 rows both tables are empty: what × differs from 1 by is error.',
        ...mismatches(steps.flatMap(measurementsOf)),
      ],
    },
    {
      title: 'Just after a checkpoint: one measurement each',
      table: afterCheckpoint,
      lines: ["× is to the median of the empty table's turns, which follow."],
    },
  ];
};

const multiple = (value: number | undefined) => ratio(value, 1);

const rangeOf = ({ rounds }: GrowthStep): string => {
  const ratios = rounds.map(({ ofEmpty }) => ofEmpty);
  return `${multiple(Math.min(...ratios))} to ${multiple(Math.max(...ratios))}`;
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
