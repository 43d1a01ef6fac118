// What of OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1) the description uses, and no more.

export type Reference = { $ref: string };
export type JsonSchema = { [keyword: string]: unknown };

export type MediaType = {
  schema: JsonSchema | Reference;
  examples?: Record<string, { summary?: string; value: unknown }>;
};

export type Header = { description: string; required?: boolean; schema: JsonSchema; example: unknown };

export type Response = {
  description: string;
  headers: Record<string, Header | Reference>;
  content?: Record<string, MediaType>;
};

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  description: string;
  required?: boolean;
  schema: JsonSchema;
  example?: unknown;
};

export type Operation = {
  operationId: string;
  tags: [string];
  summary: string;
  description?: string;
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { required: true; description?: string; content: Record<string, MediaType> };
  responses: Record<string, Response>;
};

export type Method = 'get' | 'put' | 'post' | 'delete' | 'patch';

/** A path with its operations; `servers` where it does not stand below the base path. */
export type PathItem = { servers?: { url: string; description: string }[] } & Partial<Record<Method, Operation>>;

export const schemaReference = (name: string): Reference => ({ $ref: `#/components/schemas/${name}` });
