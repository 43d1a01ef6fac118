import { parseArgs } from 'node:util';
import { BenchError } from './bench-error.ts';

const DEFAULT_SECONDS = 3;
const DEFAULT_ROUNDS = 3;
const DEFAULT_CONNECTIONS = '1,16,64,256';
const DEFAULT_GROWTH_ROWS = 5_000_000;
const FULL_SOAK_MINUTES = 10;

export type Part = 'comparison' | 'reads' | 'growth' | 'soak';

export type Options = Readonly<{
  help: boolean;
  /** How long each measurement takes. */
  seconds: number;
  /** 0 leaves the comparison out, for a run of another part alone. */
  rounds: number;
  /** Ascending. */
  connections: readonly number[];
  /** Ids of targets; empty means all. */
  only: readonly string[];
  /** The peers log nothing. */
  quietPeers: boolean;
  /** 0 leaves reads out. */
  readRounds: number;
  growth: boolean;
  growthRows: number;
  /** 0 leaves the soak out. */
  soakMinutes: number;
  /** Which parts are other than in a full run: their results are kept apart. */
  partial: Readonly<Record<Part, boolean>>;
}>;

export const usage = `npm run bench -- [options]

  --seconds <n>         length of each measurement (${DEFAULT_SECONDS})
  --rounds <n>          rounds over all targets; figures are medians; 0 leaves the comparison out (${DEFAULT_ROUNDS})
  --connections <list>  concurrent connections (${DEFAULT_CONNECTIONS})
  --only <list>         targets by id, such as store,fastify-pg; leaves reads out
  --quiet-peers         peers write no log
  --reads               then measure reads, as a run without --only or --rounds 0 does by itself
  --growth              then measure the store while its table grows
  --growth-rows <n>     rows at which growth ends (${DEFAULT_GROWTH_ROWS})
  --soak-minutes <n>    then watch the store's memory at full load for n minutes
  --help                this text

  DATABASE_URL          a PostgreSQL server to use; else an embedded one is started. The benchmark makes databases of
                        its own there and drops them at the end
  PLANT_STORE_ROOT      the project to measure, by default the folder above bench/`;

const wholeNumber = (name: string, text: string, minimum: number): number => {
  if (!/^\d{1,9}$/.test(text) || Number(text) < minimum) {
    throw new BenchError(`--${name} is ${JSON.stringify(text)} and should be a whole number of at least ${minimum}`);
  }
  return Number(text);
};

const minutes = (name: string, text: string): number => {
  if (!/^\d{1,4}(\.\d+)?$/.test(text)) {
    throw new BenchError(`--${name} is ${JSON.stringify(text)} and should be a number of minutes such as 10`);
  }
  return Number(text);
};

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);

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

/** @throws {BenchError} naming the option that is wrong, and what it should be */
export const readOptions = (args: string[]): Options => {
  const values = parse(args);
  const seconds = wholeNumber('seconds', values.seconds, 1);
  const rounds = wholeNumber('rounds', values.rounds, 0);
  const growthRows = wholeNumber('growth-rows', values['growth-rows'], 1);
  const connections = listOf(values.connections).map((text) => wholeNumber('connections', text, 1));
  if (connections.length === 0) throw new BenchError('--connections is empty and should be a list such as 1,64');
  const only = listOf(values.only);
  const quietPeers = values['quiet-peers'];
  const reads = values.reads || (rounds > 0 && only.length === 0);
  const readRounds = reads ? rounds || DEFAULT_ROUNDS : 0;
  const soakMinutes = minutes('soak-minutes', values['soak-minutes']);
  const isShort = seconds < DEFAULT_SECONDS;
  return {
    help: values.help,
    seconds,
    rounds,
    connections: [...new Set(connections)].sort((a, b) => a - b),
    only,
    quietPeers,
    readRounds,
    growth: values.growth,
    growthRows,
    soakMinutes,
    partial: {
      comparison:
        only.length > 0 ||
        quietPeers ||
        values.connections !== DEFAULT_CONNECTIONS ||
        rounds < DEFAULT_ROUNDS ||
        isShort,
      reads: quietPeers || readRounds < DEFAULT_ROUNDS || isShort,
      growth: growthRows < DEFAULT_GROWTH_ROWS || isShort,
      soak: soakMinutes < FULL_SOAK_MINUTES,
    },
  };
};
