import { parse } from 'node:querystring';
import type { z } from 'zod';
import { StoreError } from '../errors.ts';
import { formatCount, quoteValue } from '../quote-value.ts';

/**
 * Parses a query (Express setting `query parser`). A repeated parameter becomes an array.
 * @throws {StoreError} code 1005 if it is not percent-encoded UTF-8, which `parse` would silently replace
 */
export const parseQuery = (query: string | null) => {
  try {
    decodeURIComponent(query ?? '');
  } catch {
    throw new StoreError('parameterWrong', 'The query is not percent-encoded UTF-8.');
  }
  // By default, `parse` ignores all but the first 1000 parameters.
  return parse(query ?? '', '&', '=', { maxKeys: 0 });
};

/** How many wrong fields or parameters an error names. A query may have thousands. */
const MAX_NAMED = 5;

/**
 * Validates a body.
 * @param whole what messages call it
 * @throws {StoreError} code 1003, with a JSON Pointer for each of the first wrong fields
 */
export const parseBody = <Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  whole = 'The body',
): z.infer<Schema> => {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  // A field may have several problems; the first one is enough.
  const wrong = Map.groupBy(result.error.issues, ({ path }) => path.map((key) => `/${String(key)}`).join(''));
  const fields = Array.from(wrong.entries().take(MAX_NAMED), ([pointer, [issue]]) => ({
    pointer,
    detail: withValue(issue?.message ?? '', body, issue?.path ?? []),
  }));
  const sentences = fields.map(({ pointer, detail }) => `${pointer.slice(1) || whole} ${detail}`);
  const message = `${[...sentences, ...describeRest(wrong.size, 'field')].join('; ')}.`;
  throw new StoreError('fieldWrong', message, { fields });
};

/** What to add to a message about the first `MAX_NAMED` of `count` things, each of which is a `noun`. */
const describeRest = (count: number, noun: string): string[] => {
  const rest = count - MAX_NAMED;
  if (rest <= 0) return [];
  return [`${formatCount(rest)} more ${noun}${rest === 1 ? ' is' : 's are'} wrong`];
};

/** Names that look unlike those of our parameters are quoted. */
const quoteName = (name: string) => (/^\w{1,60}$/.test(name) ? name : quoteValue(name));

/** Adds the wrong value to a message, unless the value is missing. */
const withValue = (message: string, whole: unknown, path: PropertyKey[]): string => {
  let value = whole;
  for (const key of path) {
    // A single parameter of a list is not in an array.
    if (typeof value !== 'object' || value === null) break;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value === undefined || message === 'is required' ? message : `${message}, not ${quoteValue(value)}`;
};

/**
 * Validates the parameters of a path or a query. Ignores unknown parameters, unless the schema is strict.
 * @throws {StoreError} code 1005, naming the first wrong parameters, and how many more there are
 */
export const parseParameters = <Schema extends z.ZodObject>(schema: Schema, values: object): z.infer<Schema> => {
  const result = schema.safeParse(values);
  if (result.success) return result.data;
  const problems = result.error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((name) => ({ name, describe: () => `${quoteName(name)} is not known` }));
    const name = String(issue.path[0]);
    return [{ name, describe: () => `${name} ${withValue(issue.message, values, issue.path)}` }];
  });
  const wrong = Map.groupBy(problems, ({ name }) => name);
  const named = wrong
    .values()
    .take(MAX_NAMED)
    .map(([problem]) => `The parameter ${problem?.describe()}`);
  throw new StoreError('parameterWrong', `${[...named, ...describeRest(wrong.size, 'parameter')].join('. ')}.`);
};
