import type { OpenAPIV3_1 } from 'openapi-types';
import { z } from 'zod';

export type Header = OpenAPIV3_1.HeaderObject;
type JsonSchema = OpenAPIV3_1.NonArraySchemaObject;
export type MediaType = OpenAPIV3_1.MediaTypeObject;
/** By media type. */
export type Content = Record<string, MediaType>;
/** `openapi-types` declares the schema of a parameter as in OpenAPI 3.0. */
export type Parameter = Omit<OpenAPIV3_1.ParameterObject, 'schema'> & { schema: JsonSchema };
export type Reference = OpenAPIV3_1.ReferenceObject;
export type Response = OpenAPIV3_1.ResponseObject;

type Component = 'examples' | 'headers' | 'responses' | 'schemas';

export const reference = (component: Component, name: string): Reference => ({
  $ref: `#/components/${component}/${name}`,
});

/** JSON content. `schema`: a schema, or the name of one among the components. */
export const json = (schema: NonNullable<MediaType['schema']> | string, examples?: MediaType['examples']): Content => ({
  'application/json': {
    schema: typeof schema === 'string' ? reference('schemas', schema) : schema,
    ...(examples && { examples }),
  },
});

/**
 * The JSON Schema (2020-12) of the input of a zod schema. A bigint becomes an integer with format int64. The schema
 * states no bounds: the format implies them (https://spec.openapis.org/registry/format/int64), and most JSON parsers
 * would round them.
 */
export const toJsonSchema = (schema: z.ZodType, io: 'input' | 'output' = 'input'): JsonSchema => {
  const { $schema, ...jsonSchema } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'bigint') Object.assign(jsonSchema, { type: 'integer', format: 'int64' });
    },
  });
  return jsonSchema as JsonSchema;
};

/** The parameters that a schema parses. Their types are those of its output, because its input is text. */
export const parametersOf = (place: 'path' | 'query' | 'header', parsedBy: z.ZodObject): Parameter[] => {
  const { properties } = toJsonSchema(parsedBy, 'output') as { properties: Record<string, JsonSchema> };
  return Object.entries(properties).map(([name, { description = '', examples, ...schema }]) => ({
    name,
    in: place,
    ...(place === 'path' && { required: true }),
    description,
    schema,
    // Swagger UI fills in only this one.
    ...(examples && { example: examples[0] }),
  }));
};
