import { parse } from 'node:querystring';
import type { z } from 'zod';
import { ApiError } from './api-error.ts';

/**
 * Reads a query (Express' setting `query parser`). A parameter given more than once is an array.
 * @throws {ApiError} code 1005 where it is not percent-encoded UTF-8, which `parse` alone would turn into something else
 */
export const parseQuery = (query: string | null) => {
  try {
    decodeURIComponent(query ?? '');
  } catch {
    throw new ApiError('parameterWrong', 'The query is not percent-encoded UTF-8.');
  }
  // By default, `parse` leaves out everything behind the first 1000 parameters.
  return parse(query ?? '', '&', '=', { maxKeys: 0 });
};

/**
 * Checks the parameters of a path or a query. Others than those of the schema are ignored.
 * @throws {ApiError} code 1005, naming every wrong parameter
 */
export const parseParameters = <Schema extends z.ZodObject>(schema: Schema, values: object): z.infer<Schema> => {
  const result = schema.safeParse(values);
  if (result.success) return result.data;
  const wrong = new Map(result.error.issues.map(({ path, message }) => [path.join('.'), message]));
  const sentences = [...wrong].map(([name, message]) => `The parameter ${name} ${message}.`);
  throw new ApiError('parameterWrong', sentences.join(' '));
};
