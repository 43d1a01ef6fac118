import { type Command, InvalidArgumentError } from 'commander';
import type { Config } from '../config/config.ts';
import { distribute } from '../database/distribution.ts';
import { print } from './output.ts';
import { withSession } from './with-database.ts';

/** Adds `distribute`. */
export const addDistributeCommand = (program: Command, config: () => Config): void => {
  program
    .command('distribute')
    .description('distribute the tables over the workers of a Citus cluster; needs the role that owns them')
    .option('--shards <n>', 'number of parts of the table plants', parseShards, DEFAULT_SHARDS)
    .action(({ shards }: { shards: number }) =>
      withSession(config(), async (url) => {
        const done = await distribute(url, { shards });
        await print(
          done.length > 0
            ? `Distributed:\n${done.map((line) => `  ${line}\n`).join('')}Now start the stores, or restart them.\n`
            : 'All tables are distributed already.\n',
        );
      }),
    );
};

/** Each shard costs every batch of plants a statement on a worker. */
const DEFAULT_SHARDS = 8;
/** The maximum of Citus itself. */
const MAX_SHARDS = 64_000;

const parseShards = (text: string): number => {
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= MAX_SHARDS) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_SHARDS}.`);
};
