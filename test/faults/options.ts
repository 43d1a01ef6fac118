import { parseArgs } from 'node:util';

export const usage = `npm run test:faults -- [options]

  --short        about four minutes instead of twenty; CI runs this
  --only NAMES   only these faults, such as postgres-killed,soak
  --list         print the names
  --keep         keep the folder with the logs of PostgreSQL and of the stores
  --help         print this text
`;

/** @throws {TypeError} on an unknown option */
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
