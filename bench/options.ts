import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { BenchError } from './command.ts';

const MEASUREMENTS = ['posts', 'keys', 'memory', 'reads', 'imports', 'search-index', 'stores'] as const;
export type MeasurementName = (typeof MEASUREMENTS)[number];

export type Options = Readonly<{
  help: boolean;
  measure: readonly MeasurementName[];
  /** Ids of targets. Empty means all. */
  only: readonly string[];
  rounds: number;
  /** Length of each measurement. */
  seconds: number;
  connections: readonly number[];
  /** Of imports, exports and the search index. */
  rows: number;
  /** Another checkout, whose store takes the place of the peers. */
  compare: string | undefined;
  /** Without any option. Only such a run replaces `results/latest.md`. */
  isFull: boolean;
}>;

export const usage = `npm run bench -- [options]

  --measure <list>      of ${MEASUREMENTS.join(',')} (default all; with --compare: posts,memory)
  --compare <checkout>  compare the store with that of another checkout instead of the peers
  --only <list>         only these targets of posts, for example store,fastify-pg
  --rounds <n>          rounds over all targets; figures are medians (default 3; with --compare: 6)
  --seconds <n>         length of each measurement (default 6)
  --connections <list>  concurrent connections of posts (default 64,4,1)
  --rows <n>            plants of imports, exports and the search index (default 1000000)
  --help                print this help

Environment variables:
  DATABASE_URL          the PostgreSQL server to use (default: start the embedded one). The benchmark creates its own
                        databases there and drops them at the end
  PLANT_STORE_ROOT      another checkout whose store to measure (default: the folder above bench/)
  WORKERS               number of processes of the store (default 1)`;

/** @throws {BenchError} naming the wrong option and the expected value */
export const readOptions = (args: string[]): Options => {
  const values = parse(args);
  const { compare } = values;
  return {
    help: values.help ?? false,
    measure: listOf(values.measure ?? (compare ? 'posts,memory' : MEASUREMENTS.join())).map(toMeasurement),
    only: listOf(values.only ?? ''),
    rounds: wholeNumber('rounds', values.rounds ?? (compare ? '6' : '3')),
    seconds: wholeNumber('seconds', values.seconds ?? '6'),
    connections: listOf(values.connections ?? '64,4,1').map((text) => wholeNumber('connections', text)),
    rows: wholeNumber('rows', values.rows ?? '1000000'),
    compare: compare === undefined ? undefined : resolve(compare),
    isFull: args.length === 0,
  };
};

const parse = (args: string[]) => {
  const text = { type: 'string' } as const;
  const options = {
    measure: text,
    compare: text,
    only: text,
    rounds: text,
    seconds: text,
    connections: text,
    rows: text,
  };
  try {
    return parseArgs({ args, options: { ...options, help: { type: 'boolean' } } }).values;
  } catch (error) {
    throw new BenchError(`${(error as Error).message}\n\n${usage}`);
  }
};

const toMeasurement = (text: string): MeasurementName => {
  const name = MEASUREMENTS.find((known) => known === text);
  if (name === undefined) throw new BenchError(`--measure: unknown ${text}. Known are ${MEASUREMENTS.join(', ')}`);
  return name;
};

const wholeNumber = (name: string, text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new BenchError(`--${name} is ${text}. Expected a whole number of at least 1`);
  return Number(text);
};

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
