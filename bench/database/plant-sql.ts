/**
 * Names and tags as a city would store them: a kind of tree, a house number, a street and four letters, 35 characters on
 * average. Both follow from the id, which is random.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const TREES = join(import.meta.dirname, '..', '..', 'examples', 'toronto-york-trees.ndjson');

/** Each name of the example file once, with its species. */
const readKinds = () => {
  const lines = readFileSync(TREES, 'utf8').trim().split('\n');
  const kinds = lines.map((line): { name: string; tag: string } => JSON.parse(line));
  return [...new Map(kinds.map((kind) => [kind.name, kind])).values()];
};

const kinds = readKinds();

const streets = [
  ...['Alliance Ave', 'Avenue Rd', 'Bathurst St', 'Bay St', 'Bayview Ave', 'Bloor St', 'Caledonia Rd', 'Christie St'],
  ...['College St', 'Danforth Ave', 'Davenport Rd', 'Dovercourt Rd', 'Dufferin St', 'Dundas St', 'Eglinton Ave W'],
  ...['Finch Ave', 'Gerrard St', 'Jane St', 'Keele St', 'King St', 'Queen St', 'Rogers Rd', 'Weston Rd', 'Yonge St'],
];

/** An array literal is one constant to the planner, ARRAY[…] one for each element. */
const arraySql = (texts: string[]): string => {
  const elements = texts.map((text) => JSON.stringify(text));
  return `'{${elements.join().replaceAll("'", "''")}}'::text[]`;
};

const kind = `[1 + (id & 65535)::int % ${kinds.length}]`;
const street = `(${arraySql(streets)})[1 + ((id >> 16) & 255)::int % ${streets.length}]`;
const tree = `(${arraySql(kinds.map(({ name }) => name))})${kind}`;

/** Expressions for a row's name and tag. They need a column `id` of type bigint. */
export const nameSql = `${tree} || ' ' || ((id >> 24) & 8191) || ' ' || ${street} || ' ' || left(md5(id::text), 4)`;
export const tagSql = `(${arraySql(kinds.map(({ tag }) => tag))})${kind}`;
