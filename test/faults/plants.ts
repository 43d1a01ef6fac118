import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '../support/store-process.ts';

export type Plant = { id: number; name: string; tag: string };

/** What clients store: a plant for each number from 1 on, and back from its id to its number. */
export type Plants = { plantOf: (number: number) => Plant; numberOf: (id: number) => number };

const FIR = { name: 'Fir', tag: 'Abies' };

export const firs: Plants = { plantOf: (id) => ({ id, ...FIR }), numberOf: (id) => id };

/** Above the ids of all example trees. */
const ID_OF_FIRST_FIR = 1_000_000;

/** The trees of the examples, each once, then firs. */
export const exampleTrees = (): Plants & { trees: Plant[] } => {
  const file = join(projectFolder, 'examples', 'toronto-york-trees.ndjson');
  const trees: Plant[] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const numbers = new Map(trees.map(({ id }, index) => [id, index + 1]));
  return {
    trees,
    plantOf: (number) => trees[number - 1] ?? { id: ID_OF_FIRST_FIR + number, ...FIR },
    numberOf: (id) => numbers.get(id) ?? id - ID_OF_FIRST_FIR,
  };
};
