import { type Parameter, toJsonSchema } from '../openapi/openapi.ts';
import { DEFAULT_LIMIT, MAX_LIMIT, type plantPathSchema, plantQuerySchema } from './plant-parameters.ts';

type Description = Omit<Parameter, 'name' | 'in'>;

/** The parameters of plantPathSchema. */
const inPath: Record<keyof typeof plantPathSchema.shape, Description> = {
  id: {
    description: 'Identification number of the plant, in decimal digits',
    schema: { type: 'integer', format: 'int64' },
    example: 17,
  },
};

/** The parameters of plantQuerySchema. They have no examples, because Swagger UI would fill them in. */
const inQuery: Record<keyof typeof plantQuerySchema.shape, Description> = {
  limit: {
    description: 'The maximum number of plants on a page',
    schema: { type: 'integer', format: 'int32', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
  },
  cursor: {
    description:
      'Where the page starts. Use the URL in the Link header of the previous page; do not construct cursors.',
    schema: { type: 'string' },
  },
  tag: {
    description: 'Only plants with exactly this tag',
    schema: toJsonSchema(plantQuerySchema.shape.tag),
  },
  q: {
    description: 'Only plants whose name contains this text, ignoring case',
    schema: toJsonSchema(plantQuerySchema.shape.q),
  },
};

export const plantPath: Parameter = { name: 'id', in: 'path', required: true, ...inPath.id };

export const plantQuery = Object.entries(inQuery).map(
  ([name, description]): Parameter => ({ name, in: 'query', ...description }),
);

/** The headers of a conditional change (RFC 9110 §13.1). */
export const plantPreconditions: Parameter[] = [
  {
    name: 'If-Match',
    in: 'header',
    description:
      'ETags, or `*`. The response is 412 unless one of them is the current ETag of the plant (RFC 9110 §13.1.1).',
    schema: { type: 'string' },
  },
  {
    name: 'If-None-Match',
    in: 'header',
    description:
      'ETags, or `*`. The response is 412 if one of them is the current ETag of the plant (RFC 9110 §13.1.2).',
    schema: { type: 'string' },
  },
];
