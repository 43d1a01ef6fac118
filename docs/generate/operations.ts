import { STATUS_CODES } from 'node:http';
import type { OpenAPIV3_1 } from 'openapi-types';
import { errors } from '../../src/errors.ts';
import { openApiDocument } from '../../src/openapi-document.ts';
import { code, codeBlock, heading, list, renderPage, table } from './markdown.ts';

type Schema = OpenAPIV3_1.SchemaObject & { $ref?: string };
type Parameter = {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
};
type Media = { schema?: Schema; examples?: Record<string, { value?: unknown; $ref?: string }> };
type Response = { description: string; content?: Record<string, Media>; headers?: Record<string, unknown> };
type Operation = {
  operationId: string;
  summary: string;
  description?: string;
  parameters?: Parameter[];
  tags: string[];
  security: { bearerAuth?: string[] }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Response & { $ref?: string }>;
};

const document = JSON.parse(JSON.stringify(openApiDocument)) as {
  info: { description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> };
};

const lastPart = (reference = '') => reference.split('/').at(-1) ?? '';
const resolve = (response: Operation['responses'][string]): Response =>
  response.$ref ? (document.components.responses[lastPart(response.$ref)] as Response) : response;

// --- Types in words

const linkTo = (name: string) => `[${name}](#${name})`;

const typeOf = (schema: Schema = {}): string => {
  if (schema.$ref) return linkTo(lastPart(schema.$ref));
  if (schema.anyOf) return (schema.anyOf as Schema[]).map(typeOf).join(' or ');
  if (schema.type === 'array') return `array of ${typeOf(schema.items as Schema)}`;
  if (schema.enum)
    return schema.enum
      .filter((value) => value !== '\t')
      .map((value) => code(String(value)))
      .join(', ');
  return [schema.type, schema.format].filter(Boolean).join(', ');
};

/** With its range and default, for parameters. */
const valueOfParameter = ({ schema, required }: Parameter): string => {
  const { minimum, maximum, minLength, maxLength, maxItems } = schema;
  const facts = [
    typeOf(schema),
    ...(minimum !== undefined && maximum !== undefined ? [`${minimum} to ${maximum}`] : []),
    ...(maxLength !== undefined ? [`${minLength ?? 0} to ${maxLength} characters`] : []),
    ...(maxItems !== undefined ? [`repeated up to ${maxItems} times`] : []),
    ...(schema.default !== undefined ? [`default ${code(String(schema.default))}`] : []),
    ...(required ? ['required'] : []),
  ];
  return facts.join('; ');
};

/** The fields of an object, those of objects in it included. */
const fieldsOf = (schema: Schema, prefix = ''): string[][] =>
  Object.entries((schema.properties ?? {}) as Record<string, Schema>).flatMap(([name, field]) => {
    const { items } = field as { items?: Schema };
    const own = [
      code(`${prefix}${name}`),
      typeOf(field),
      schema.required?.includes(name) ? 'yes' : '',
      field.description ?? '',
    ];
    return [own, ...(items?.properties ? fieldsOf(items, `${prefix}${name}[].`) : [])];
  });

// --- One operation

/** Where the examples of openapi.json are alternatives that do not belong together, or a query is needed. */
const examples: Record<string, { query?: string; body?: unknown; response?: unknown }> = {
  patchPlants: { query: '?tag=Ginkgo%20biloba', body: { tag: 'Ginkgo' }, response: { updated: 1 } },
  deletePlants: { query: '?tag=Ginkgo%20biloba', response: { deleted: 1 } },
  patchPlant: { body: { tag: null }, response: { name: 'Ginkgo' } },
  importPlants: { response: { created: 2, replaced: 0, skipped: 0, failed: 0, errors: [] } },
  isLive: { response: { status: 'live' } },
  isReady: { response: { status: 'ready' } },
  getDescription: {},
};

const firstOf = (content: Record<string, Media> = {}): [type: string, value: unknown] | undefined => {
  const [entry] = Object.entries(content);
  return entry && [entry[0], Object.values(entry[1].examples ?? {})[0]?.value];
};

const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

const renderExample = (method: string, path: string, operation: Operation): string[] => {
  const { [operation.operationId]: own } = examples;
  const [status = '', success] = Object.entries(operation.responses)[0] ?? [];
  const body = firstOf(operation.requestBody?.content);
  const answer = firstOf(success?.content);
  const address = `http://127.0.0.1:3000${path.replace('{id}', '17')}`;
  // A shell may take the question mark for a pattern.
  const url = own?.query ? `'${address}${own.query}'` : address;
  const words = [
    `curl -i${method === 'get' || (method === 'post' && body) ? '' : ` -X ${method.toUpperCase()}`} ${url}`,
    ...(operation.security.length > 0 ? ['-H "Authorization: Bearer $ACCESS_TOKEN"'] : []),
    ...(body ? [`-H 'Content-Type: ${body[0]}'`, `--data-binary '${asText(own?.body ?? body[1]).trimEnd()}'`] : []),
  ];
  const shown = own ? own.response : answer?.[1];
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`];
  if (shown !== undefined) lines.push(`Content-Type: ${answer?.[0]}`, '', asText(shown));
  return [codeBlock('sh', words.join(' \\\n  ')), codeBlock('http', lines.join('\n'))];
};

/** The statuses with errors, and their codes. */
const renderErrors = (responses: Operation['responses']): string => {
  const statuses = Object.entries(responses).flatMap(([status, response]) => {
    const kinds = Object.keys(resolve(response).content?.['application/problem+json']?.examples ?? {});
    const codes = kinds.map((kind) => errors[kind as keyof typeof errors].code).sort();
    return codes.length > 0 ? [`${code(status)}: ${codes.map((one) => `[${one}](errors.md#${one})`).join(', ')}`] : [];
  });
  return `**Errors**\n\n${list(statuses)}`;
};

/** A description without the sentences that name codes, which the page lists apart. */
const withoutErrors = (description: string) => {
  const sentences = description.split(/(?<=\.) /);
  const first = sentences.findIndex((sentence) => /\(\d{4}\)\.$/.test(sentence));
  return sentences.slice(0, first < 0 ? sentences.length : first).join(' ');
};

const renderResponses = (responses: Operation['responses']): string =>
  list(
    Object.entries(responses)
      .filter(
        ([status, { content }]) => Number(status) < 400 || JSON.stringify(content ?? {}).includes('ImportSummary'),
      )
      .map(([status, { description, content = {}, headers = {} }]) => {
        const bodies = Object.entries(content).filter(([type]) => type !== 'application/problem+json');
        const body = bodies.map(
          ([type, { schema }]) => `${code(type)}${typeOf(schema) === 'string' ? '' : `, ${typeOf(schema)}`}`,
        );
        const names = Object.keys(headers).filter((name) => name !== 'Accept');
        return [
          `${code(status)}: ${withoutErrors(description)}`,
          ...(body.length > 0 ? [`Body: ${body.join('; or ')}.`] : []),
          ...(names.length > 0 ? [`Headers: ${names.map(code).join(', ')}.`] : []),
        ].join(' ');
      }),
  );

const renderOperation = (method: string, path: string, operation: Operation): string => {
  const { operationId, summary, description = '', parameters = [], security, requestBody, responses } = operation;
  const scopes = security.flatMap(({ bearerAuth = [] }) => bearerAuth);
  const bodies = Object.entries(requestBody?.content ?? {}).map(
    ([type, { schema }]) => `${code(type)}: ${typeOf(schema) === 'string' ? 'a file' : typeOf(schema)}`,
  );
  const parts = [
    heading(3, operationId, summary),
    codeBlock('', `${method.toUpperCase()} ${path}`),
    description.replace(/<details>[\s\S]*/, '').trim(),
    scopes.length > 0 ? `Scope: ${scopes.map(code).join(' and ')}.` : 'No token is required.',
    parameters.length > 0 ? '**Parameters**' : '',
    list(
      parameters.map((one) =>
        `${code(one.name)} (${one.in}; ${valueOfParameter(one)}): ${one.description}.`.replace(/\.\.$/, '.'),
      ),
    ),
    bodies.length > 0 ? `**Request body**\n\n${list(bodies)}` : '',
    `**Responses**\n\n${renderResponses(responses)}`,
    renderErrors(responses),
    '**Example**',
    ...renderExample(method, path, operation),
  ];
  return parts.filter(Boolean).join('\n\n');
};

// --- The page

const all = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

/** What all operations have in common: the description of the document, without the frame that the API page folds. */
const INTRODUCTION = document.info.description
  .replace(/<details><summary>.*<\/summary>|<\/details>/g, '')
  .replace('(docs/errors)', '(errors.md)')
  .replace(/\n{3,}/g, '\n\n')
  .trim();

export const renderOperations = (): string =>
  renderPage(
    'Operations',
    'openapi.json',
    INTRODUCTION,
    '[The API](api.md) explains pages, searches and concurrent changes.',
    table(
      ['operation', 'summary', 'scope'],
      all.map(({ path, method, operation }) => [
        `[${code(`${method.toUpperCase()} ${path}`)}](#${operation.operationId})`,
        operation.summary,
        operation.security
          .flatMap(({ bearerAuth = [] }) => bearerAuth)
          .map(code)
          .join(', '),
      ]),
    ),
    ...document.tags.flatMap(({ name, description }) => [
      `## ${name}`,
      description,
      ...all
        .filter(({ operation }) => operation.tags.includes(name))
        .map(({ method, path, operation }) => renderOperation(method, path, operation)),
    ]),
    '## Objects',
    'Unknown fields of a request are ignored.',
    ...Object.entries(document.components.schemas).flatMap(([name, schema]) => [
      heading(3, name, name),
      table(['field', 'type', 'required', 'meaning'], fieldsOf(schema)),
    ]),
  );
