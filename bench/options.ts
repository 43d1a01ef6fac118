import { parseArgs } from 'node:util';
import { BenchError } from './processes/bench-error.ts';

/** More than one interval in which the store merges its search index. */
const DEFAULT_SECONDS = 6;
const DEFAULT_ROUNDS = 3;
const DEFAULT_CONNECTIONS = '1,16,64';
const DEFAULT_GROWTH_ROWS = 5_000_000;
const DEFAULT_BULK_ROWS = 1_000_000;
const FULL_SOAK_MINUTES = 10;

export type Options = Readonly<{
  help: boolean;
  /** Length of each measurement. */
  seconds: number;
  /** 0 skips the comparison. */
  rounds: number;
  /** Ascending. */
  connections: readonly number[];
  /** Ids of targets. Empty means all. */
  only: readonly string[];
  /** Turns the peers' request logs off. */
  quietPeers: boolean;
  /** 0 skips reads. */
  readRounds: number;
  bulk: boolean;
  bulkRows: number;
  growth: boolean;
  growthRows: number;
  /** 0 skips the soak test. */
  soakMinutes: number;
  /** Measurements that do less than a full run. Their results are written to `results/partial*`. */
  partial: Readonly<Record<'comparison' | 'reads' | 'bulk' | 'growth' | 'soak', boolean>>;
}>;

export const usage = `npm run bench -- [options]

  --seconds <n>         length of each measurement (default ${DEFAULT_SECONDS})
  --rounds <n>          rounds over all targets; figures are medians; 0 skips the comparison (default ${DEFAULT_ROUNDS})
  --connections <list>  concurrent connections (default ${DEFAULT_CONNECTIONS})
  --only <list>         only these targets, for example store,fastify-pg; skips reads and bulk
  --quiet-peers         turn the peers' request logs off
  --reads               also measure reads (default, except with --only or --rounds 0)
  --bulk                also measure imports and exports (default, except with --only or --rounds 0)
  --bulk-rows <n>       rows to import and export (default ${DEFAULT_BULK_ROWS})
  --growth              also measure the store as its table grows
  --growth-rows <n>     final number of rows (default ${DEFAULT_GROWTH_ROWS})
  --soak-minutes <n>    also record the store's memory during n minutes of full load
  --help                print this help

Environment variables:
  DATABASE_URL          the PostgreSQL server to use (default: start the embedded one). The benchmark creates its own
                        databases there and drops them at the end
  PLANT_STORE_ROOT      another checkout whose store to measure (default: the folder above bench/)
  WORKERS               number of processes of the store (default 1)`;

/** @throws {BenchError} naming the wrong option and the expected value */
export const readOptions = (args: string[]): Options => {
  const values = parse(args);
  const seconds = wholeNumber('seconds', values.seconds, 1);
  const rounds = wholeNumber('rounds', values.rounds, 0);
  const growthRows = wholeNumber('growth-rows', values['growth-rows'], 1);
  const connections = listOf(values.connections).map((text) => wholeNumber('connections', text, 1));
  if (connections.length === 0) throw new BenchError('--connections is empty. Expected a list such as 1,64');
  const only = listOf(values.only);
  const quietPeers = values['quiet-peers'];
  const bulkRows = wholeNumber('bulk-rows', values['bulk-rows'], 1);
  const isWhole = rounds > 0 && only.length === 0;
  const readRounds = values.reads || isWhole ? rounds || DEFAULT_ROUNDS : 0;
  const soakMinutes = minutes('soak-minutes', values['soak-minutes']);
  const isShort = seconds < DEFAULT_SECONDS;
  const hasOtherTargets = only.length > 0 || values.connections !== DEFAULT_CONNECTIONS;
  return {
    help: values.help,
    seconds,
    rounds,
    connections: [...new Set(connections)].sort((a, b) => a - b),
    only,
    quietPeers,
    readRounds,
    bulk: values.bulk || isWhole,
    bulkRows,
    growth: values.growth,
    growthRows,
    soakMinutes,
    partial: {
      comparison: hasOtherTargets || quietPeers || rounds < DEFAULT_ROUNDS || isShort,
      reads: quietPeers || readRounds < DEFAULT_ROUNDS || isShort,
      bulk: quietPeers || bulkRows < DEFAULT_BULK_ROWS || isShort,
      growth: growthRows < DEFAULT_GROWTH_ROWS || isShort,
      soak: soakMinutes < FULL_SOAK_MINUTES,
    },
  };
};

const parse = (args: string[]) => {
  try {
    return parseArgs({
      args,
      options: {
        seconds: { type: 'string', default: String(DEFAULT_SECONDS) },
        rounds: { type: 'string', default: String(DEFAULT_ROUNDS) },
        connections: { type: 'string', default: DEFAULT_CONNECTIONS },
        only: { type: 'string', default: '' },
        'quiet-peers': { type: 'boolean', default: false },
        reads: { type: 'boolean', default: false },
        bulk: { type: 'boolean', default: false },
        'bulk-rows': { type: 'string', default: String(DEFAULT_BULK_ROWS) },
        growth: { type: 'boolean', default: false },
        'growth-rows': { type: 'string', default: String(DEFAULT_GROWTH_ROWS) },
        'soak-minutes': { type: 'string', default: '0' },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new BenchError(`${(error as Error).message}\n\n${usage}`);
  }
};

const wholeNumber = (name: string, text: string, minimum: number): number => {
  if (!/^\d{1,9}$/.test(text) || Number(text) < minimum) {
    throw new BenchError(`--${name} is ${JSON.stringify(text)}. Expected a whole number of at least ${minimum}`);
  }
  return Number(text);
};

const minutes = (name: string, text: string): number => {
  if (!/^\d{1,4}(\.\d+)?$/.test(text)) {
    throw new BenchError(`--${name} is ${JSON.stringify(text)}. Expected a number of minutes such as 10`);
  }
  return Number(text);
};

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
