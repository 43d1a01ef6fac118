import { parseArgs } from 'node:util';

export const usage = `npm run test:faults -- [options]

  --short        about four minutes instead of twenty: what CI runs
  --only NAMES   faults by name, such as postgres-killed,soak
  --list         the names
  --keep         keep the folder with the logs of PostgreSQL and of the stores
  --help         this text
`;

/** @throws where an option is not known */
export const readOptions = (words: string[]) => {
  const { values } = parseArgs({
    args: words,
    options: {
      short: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      list: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return { ...values, only: values.only.split(',').filter(Boolean) };
};
