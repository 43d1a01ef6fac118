import type { Parameter } from '../openapi/openapi.ts';
import { toJsonSchema } from '../openapi/to-json-schema.ts';
import { DEFAULT_LIMIT, MAX_LIMIT, type plantPathSchema, plantQuerySchema } from './plant-parameters.ts';

type Description = Omit<Parameter, 'name' | 'in'>;

/** What the schema of the path checks. */
const inPath: Record<keyof typeof plantPathSchema.shape, Description> = {
  id: {
    description: 'Identification number of the plant, in decimal digits',
    schema: { type: 'integer', format: 'int64' },
    example: 17,
  },
};

/** What the schema of the query checks. Without examples: the page on which a person tries it would fill them in. */
const inQuery: Record<keyof typeof plantQuerySchema.shape, Description> = {
  limit: {
    description: 'How many plants a page has at most',
    schema: { type: 'integer', format: 'int32', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
  },
  cursor: {
    description: 'Where the page begins: as the Link to it says, and never made up',
    schema: { type: 'string' },
  },
  tag: {
    description: 'Only plants whose tag is this one',
    schema: toJsonSchema(plantQuerySchema.shape.tag),
  },
  q: {
    description: 'Only plants whose name contains this, in upper or lower case',
    schema: toJsonSchema(plantQuerySchema.shape.q),
  },
};

export const plantPath: Parameter = { name: 'id', in: 'path', required: true, ...inPath.id };

export const plantQuery = Object.entries(inQuery).map(
  ([name, description]): Parameter => ({ name, in: 'query', ...description }),
);

/** The headers of a request that changes the plant only if it is as the client believes (RFC 9110 §13.1). */
export const plantPreconditions: Parameter[] = [
  {
    name: 'If-Match',
    in: 'header',
    description: 'ETags of the plant, of which it must have one; or `*`',
    schema: { type: 'string' },
  },
  {
    name: 'If-None-Match',
    in: 'header',
    description: 'ETags of the plant, of which it must have none',
    schema: { type: 'string' },
  },
];
