import { z } from 'zod';
import type { JsonSchema } from './openapi.ts';

/**
 * The JSON Schema (2020-12) of what a zod schema takes. A bigint is an integer of the format int64, whose bounds the
 * format says (https://spec.openapis.org/registry/format/int64); as numbers, most readers of JSON would round them.
 */
export const toJsonSchema = (schema: z.ZodType): JsonSchema => {
  const { $schema, ...jsonSchema } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'bigint') Object.assign(jsonSchema, { type: 'integer', format: 'int64' });
    },
  });
  return jsonSchema;
};
