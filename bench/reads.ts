/** Reads: the store against Express and Prisma, and its pages against SQL from `pg` alone. */
import type { Result, Unavailable } from './comparison.ts';
import { whole } from './format.ts';
import { type Measurement, measure, medians, nextRun } from './measure.ts';
import { createProgress } from './progress.ts';
import { openReaders, type Reader, type ReadSetting } from './readers.ts';
import { orderOf } from './round-order.ts';

export const READ_CONNECTIONS = 64;
/** V8 goes on optimizing what a page takes for some ten seconds. */
const FIRST_WARM_UP_SECONDS = 10;
const WARM_UP_SECONDS = 1;

export type Reads = { plants: Result[]; pages: Result[]; unavailable: Unavailable[] };

type MeasureReads = ReadSetting & { rounds: number; seconds: number };
type Row = { reader: Reader; round: number; measurement: Measurement };

export const measureReads = async ({ rounds, seconds, ...setting }: MeasureReads): Promise<Reads> => {
  await using stack = new AsyncDisposableStack();
  const { readers, unavailable } = await openReaders(setting, stack);
  for (const reader of readers) await warmUp(reader, FIRST_WARM_UP_SECONDS);
  const progress = createProgress(readers.length * rounds);
  const rows: Row[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const reader of orderOf(round, readers)) {
      setting.signal.throwIfAborted();
      await warmUp(reader, WARM_UP_SECONDS);
      const load = { connections: READ_CONNECTIONS, seconds };
      const measurement = await measure({ target: reader.open, stores: false, table: setting.table, ...load });
      rows.push({ reader, round, measurement });
      const speed = `${whole(measurement.requestsPerSecond)}/s`;
      progress.step(`round ${round} · ${reader.title} · ${reader.reads} · ${speed}`);
    }
  }
  const resultsOf = (reads: Reader['reads']) =>
    readers.filter((reader) => reader.reads === reads).map((reader) => summarize(reader, rows));
  return { plants: resultsOf('plants'), pages: resultsOf('pages'), unavailable };
};

const warmUp = ({ open }: Reader, seconds: number) =>
  open.load({ connections: READ_CONNECTIONS, seconds, run: nextRun() });

const summarize = (reader: Reader, rows: Row[]): Result => {
  const rounds = rows
    .filter((row) => row.reader === reader)
    .map(({ round, measurement }) => ({ round, ...measurement }));
  const { target, title } = reader;
  return { target, title, connections: READ_CONNECTIONS, median: medians(rounds), rounds };
};
