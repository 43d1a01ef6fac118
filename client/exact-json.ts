// JSON.parse with the digits of numbers, and JSON.rawJSON (https://tc39.es/proposal-json-parse-with-source): in Node.js 22,
// Chrome 114, Firefox 135, Safari 18.4. TypeScript does not have them yet.
type ExactJson = {
  parse(text: string, reviver: (name: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(digits: string): object;
};

if (!('rawJSON' in JSON))
  throw new Error('plant-store-client needs JSON.rawJSON: Node.js 22, Chrome 114, Firefox 135, Safari 18.4 or later.');

const { parse, rawJSON } = JSON as unknown as ExactJson;

/** Parses JSON in which every number of a member named `id` is a bigint, exact to the last digit. */
export const parseExactJson = (text: string): unknown =>
  parse(text, (name, value, { source }) =>
    name === 'id' && typeof value === 'number' ? BigInt(source ?? value) : value,
  );

/** Writes JSON in which every bigint is a number, exact to the last digit. */
export const stringifyExactJson = (value: unknown): string =>
  JSON.stringify(value, (_name, member) => (typeof member === 'bigint' ? rawJSON(String(member)) : member));
