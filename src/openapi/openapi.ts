import type { OpenAPIV3_1 } from 'openapi-types';
import { z } from 'zod';

export type Header = OpenAPIV3_1.HeaderObject;
type JsonSchema = OpenAPIV3_1.NonArraySchemaObject;
export type MediaType = OpenAPIV3_1.MediaTypeObject;
/** `openapi-types` declares the schema of a parameter as in OpenAPI 3.0. */
export type Parameter = Omit<OpenAPIV3_1.ParameterObject, 'schema'> & { schema: JsonSchema };
export type Reference = OpenAPIV3_1.ReferenceObject;
export type Response = OpenAPIV3_1.ResponseObject;

export const schemaReference = (name: string): Reference => ({ $ref: `#/components/schemas/${name}` });

/**
 * The JSON Schema (2020-12) of the input of a zod schema. A bigint becomes an integer with format int64. The schema
 * states no bounds: the format implies them (https://spec.openapis.org/registry/format/int64), and most JSON parsers
 * would round them.
 */
export const toJsonSchema = (schema: z.ZodType): JsonSchema => {
  const { $schema, ...jsonSchema } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'bigint') Object.assign(jsonSchema, { type: 'integer', format: 'int64' });
    },
  });
  return jsonSchema as JsonSchema;
};
