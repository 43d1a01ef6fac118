/**
 * Names and tags as a city would store them, so that an index on names has real work to do: a kind of tree, a house
 * number, a street and four letters, 35 characters on average. Both follow from the id, which is random, so that every
 * load generator makes the same plant of the same id: here, in SQL and in load/wrk-script.lua.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const TREES = join(import.meta.dirname, '..', '..', 'examples', 'toronto-york-trees.ndjson');

type Kind = { name: string; tag: string };

/** Each name of the example file once, with its species. */
const readKinds = (): Kind[] => {
  const lines = readFileSync(TREES, 'utf8').trim().split('\n');
  const kinds = lines.map((line): Kind => JSON.parse(line));
  return [...new Map(kinds.map((kind) => [kind.name, kind])).values()];
};

const kinds = readKinds();

/** Streets of the same city. Their number is a power of two. */
const streets = [
  ...['Alliance Ave', 'Avenue Rd', 'Bathurst St', 'Bay St', 'Bayview Ave', 'Bloor St', 'Caledonia Rd', 'Christie St'],
  ...['College St', 'Danforth Ave', 'Davenport Rd', 'Dovercourt Rd', 'Dufferin St', 'Dundas St', 'Eglinton Ave W'],
  ...['Finch Ave', 'Gerrard St', 'Glencairn Ave', 'Harbord St', 'Humber Blvd', 'Jane St', 'Keele St', 'King St'],
  ...['Lawrence Ave', 'Oakwood Ave', 'Ossington Ave', 'Queen St', 'Rogers Rd', 'St Clair Ave', 'Vaughan Rd'],
  ...['Weston Rd', 'Yonge St'],
];

type Field = { shift: number; bits: number };

/** Which bits of the id choose what. */
const KIND: Field = { shift: 0, bits: 16 };
const STREET: Field = { shift: 16, bits: Math.log2(streets.length) };
const NUMBER: Field = { shift: 21, bits: 13 };
const LETTERS: Field[] = [34, 41, 48, 55].map((shift) => ({ shift, bits: 7 }));
const ALPHABET = 26;

/** The name and tag of the plant with this id. */
export const plantOf = (id: bigint): Kind => {
  const read = ({ shift, bits }: Field) => Number(BigInt.asUintN(bits, id >> BigInt(shift)));
  const { name, tag } = kinds[read(KIND) % kinds.length] as Kind;
  const letters = String.fromCharCode(...LETTERS.map((field) => 97 + (read(field) % ALPHABET)));
  return { name: `${name} ${read(NUMBER)} ${streets[read(STREET)]} ${letters}`, tag };
};

/** The same in SQL: expressions for a row's name and tag. `id` is an expression of type bigint. */
export const plantSql = (id: string): Kind => {
  const read = ({ shift, bits }: Field) => `((${id} >> ${shift}) & ${2 ** bits - 1})::int`;
  const kind = `[1 + ${read(KIND)} % ${kinds.length}]`;
  const letters = LETTERS.map((field) => `chr(97 + ${read(field)} % ${ALPHABET})`);
  const street = `(${arraySql(streets)})[1 + ${read(STREET)}]`;
  const name = `(${arraySql(kinds.map((of) => of.name))})${kind}`;
  return {
    name: [name, `' '`, `${read(NUMBER)}::text`, `' '`, street, `' '`, ...letters].join(' || '),
    tag: `(${arraySql(kinds.map((of) => of.tag))})${kind}`,
  };
};

/** An array literal is one constant to the planner, ARRAY[…] one for each element. */
const arraySql = (texts: string[]): string => {
  const elements = texts.map((text) => JSON.stringify(text));
  return `'{${elements.join().replaceAll("'", "''")}}'::text[]`;
};

/** What wrk-script.lua reads: lines of a kind's name and tag in JSON, without their quotes, or of a street. */
export const namesFile = (): string => {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  const lines = [...kinds.map(({ name, tag }) => `${inJson(name)}\t${inJson(tag)}`), ...streets.map(inJson)];
  return `${lines.join('\n')}\n`;
};
