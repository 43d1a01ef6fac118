import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import {
  createSearchIndex,
  dropSearchIndex,
  readSearchIndex,
  type SearchIndexState,
} from '../database/search-index.ts';
import { note, print } from './output.ts';
import { interruptible } from './stop-signal.ts';
import { withSession } from './with-database.ts';

export const addSearchIndexCommand = (program: Command, config: () => Config): void => {
  const command = program.command('search-index').description('create or drop the optional index for searches by name');
  const addChange = (verb: string, change: (url: string, signal: AbortSignal) => Promise<string>) =>
    command
      .command(verb)
      .description(`${verb} it while the service runs; needs the role that owns the tables`)
      .action(() =>
        withSession(config(), async (url) => print(`${await interruptible((signal) => change(url, signal))}\n`)),
      );
  addChange('create', async (url, signal) =>
    (await createSearchIndex(url, signal, note)) ? 'Created the search index.' : 'The search index exists already.',
  );
  // The first Ctrl-C does not end the command, because that would leave an incomplete index.
  addChange('drop', async (url) =>
    (await dropSearchIndex(url)) ? 'Dropped the search index.' : 'There is no search index.',
  );
  command
    .command('status')
    .description('say whether it exists, and its size')
    .action(() => withSession(config(), async (url) => print(`${describe(await readSearchIndex(url))}\n`)));
};

const describe = ({ state, bytes }: SearchIndexState): string => {
  const size = `${(bytes / 1_048_576).toFixed(1)} MiB`;
  if (state === 'valid') return `There is a search index of ${size}.`;
  if (state === 'missing') return 'There is no search index. Searches by name scan the table.';
  return (
    `There is an incomplete search index of ${size}. If no other command is creating it now, that was interrupted: ` +
    'run search-index create or search-index drop.'
  );
};
