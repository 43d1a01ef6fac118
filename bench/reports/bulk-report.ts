import { availableParallelism } from 'node:os';
import { unavailableSection } from './comparison-report.ts';
import { decimal, inConnections, mebibytes, multiple, whole } from './format.ts';
import type { Report, Section } from './report.ts';
import { type Bulk, type BulkFigures, type BulkId, type BulkResult, bulkMismatches } from './results.ts';

export const bulkReport = (bulk: Bulk, { seconds }: { seconds: number }): Report => {
  const { rows, results, unavailable } = bulk;
  const mismatches = bulkMismatches(bulk);
  return {
    suffix: '-bulk',
    title: 'Imports and exports of Plant Store and its peers',
    method: `${whole(rows)} plants; figures are medians of ${bulk.rounds} rounds; ${seconds} s of single requests`,
    sections: [
      { title: `${whole(rows)} plants, all indexes`, table: figuresTable(results), lines: notes },
      { title: 'Plant Store compared with others', table: ratiosTable(results) },
      ...latencySection(bulk),
      ...unavailableSection(unavailable),
      ...(mismatches.length > 0 ? [{ title: 'Failed: rows differ', lines: mismatches }] : []),
    ],
    data: bulk,
  };
};

const notes = [
  "own: the server's processes, or those of the command; without PostgreSQL and the client",
  'memory: peak of a new process during the measurement, less its memory when idle',
  'An index of names collects new names in a list. The time ends when the rows are stored: what is then left in the list ' +
    'is merged into the index later.',
];

const figuresTable = (results: BulkResult[]): string[][] => [
  [
    '',
    'rows/s',
    'min to max',
    'own CPU s/1,000,000',
    "PostgreSQL's",
    'own cores',
    "PostgreSQL's",
    'memory MiB',
    'limit',
  ],
  ...results.map(({ title, median, rounds }) => {
    const speeds = rounds.map(({ rowsPerSecond }) => rowsPerSecond);
    return [
      title,
      whole(median.rowsPerSecond),
      `${whole(Math.min(...speeds))} to ${whole(Math.max(...speeds))}`,
      decimal(median.cpuSecondsPerMillion),
      decimal(median.postgresCpuPerMillion),
      decimal(median.ownCores),
      decimal(median.postgresCores),
      mebibytes(median.memoryGrowth),
      limitOf(median),
    ];
  }),
];

/** A core that is used for so much of the time is busy: the rest is lost to what else the machine does. */
const BUSY = 0.85;

/** What had no time left. A load generator or client uses what is missing of all cores. */
const limitOf = ({ ownCores, postgresCores }: BulkFigures): string => {
  if (ownCores === undefined || postgresCores === undefined) return '–';
  if (ownCores + postgresCores >= BUSY * availableParallelism()) return 'all cores';
  if (ownCores >= BUSY) return 'one core: own';
  if (postgresCores >= BUSY) return 'one core: PostgreSQL';
  return 'waiting';
};

const COMPARED: [of: BulkId, base: BulkId][] = [
  ['import-command', 'psql-load'],
  ['import', 'psql-load'],
  ['import', 'single-posts'],
  ['import', 'create-many'],
  ['export', 'psql-unload'],
];

/** Ratios of the medians. */
const ratiosTable = (results: BulkResult[]): string[][] => {
  const find = (id: BulkId) => results.find((result) => result.id === id);
  const lines = COMPARED.flatMap(([of, base]) => {
    const [own, other] = [find(of), find(base)];
    if (!own || !other) return [];
    return [[`${own.title} ÷ ${other.title}`, multiple(own.median.rowsPerSecond, other.median.rowsPerSecond)]];
  });
  return [['', 'rows/s'], ...lines];
};

const latencySection = ({ latencies, latencyRatio, latencyConnections }: Bulk): Section[] =>
  latencies.length === 0
    ? []
    : [
        {
          title: `p99 in ms of POST /plants beside POST /plants/import, ${inConnections(latencyConnections)}`,
          table: [
            ['', 'before', 'during', 'after', '× of before and after'],
            ...latencies.map(({ round, before, during, after, ratio }) => [
              `round ${round}`,
              ...[before, during, after].map(decimal),
              multiple(ratio),
            ]),
            ['median', '', '', '', multiple(latencyRatio)],
          ],
        },
      ];
