import { fdatasync } from 'node:fs';
import { promisify } from 'node:util';
import { type Command, Option } from 'commander';
import type { Config } from '../config/config.ts';
import { parseSlot } from './option-parsers.ts';
import { OutputError, print } from './output.ts';
import { interruptible } from './stop-signal.ts';
import { withSession } from './with-database.ts';

type ChangesOptions = { slot: string; create?: true; drop?: true };

/** Adds `changes`. What only it needs is loaded when it runs. */
export const addChangesCommand = (program: Command, config: () => Config): void => {
  program
    .command('changes')
    .description('print a line for each committed change of a plant, and go on where it stopped')
    .requiredOption('--slot <name>', 'replication slot, which keeps the position of this reader', parseSlot)
    .addOption(
      new Option(
        '--create',
        'create the slot if it is missing, and end; needs the role that owns the tables',
      ).conflicts('drop'),
    )
    .option('--drop', 'drop the slot, and end')
    .action(async ({ slot, create, drop }: ChangesOptions) => {
      const { createSlot, dropSlot, readSlot } = await import('../changes/slot.ts');
      const { followChanges } = await import('../changes/follow-changes.ts');
      await withSession(config(), async (url) => {
        if (create) {
          const isNew = await createSlot(url, slot);
          if (!isNew) await readSlot(url, slot);
          await print(isNew ? `Created the slot ${slot}.\n` : `The slot ${slot} exists already.\n`);
        } else if (drop) {
          await dropSlot(url, slot);
          await print(`Dropped the slot ${slot}.\n`);
        } else {
          await interruptible((signal) => followChanges(url, slot, { write: print, sync: syncOutput, signal }));
        }
      });
    });
};

/** Standard output; only a file can be flushed to disk. */
const syncOutput = async (): Promise<void> => {
  await promisify(fdatasync)(1).catch((error) => {
    if (!['EINVAL', 'EROFS', 'ENOTSUP'].includes(error.code)) throw new OutputError(error);
  });
};
