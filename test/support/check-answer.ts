import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Header, Reference, Response } from '../../src/openapi/openapi.ts';
import type { OpenApiDocument } from '../../src/openapi-document.ts';

/** A response of a service. There is no path if Node.js could not parse the request. */
export type Answer = {
  method?: string;
  path?: string;
  status: number;
  headers: Record<string, unknown>;
  body: string;
};

type Responses = Record<string, Response>;

/** Header fields of HTTP itself, which the description does not contain. */
const TRANSPORT = ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'];

const PROBLEM = 'application/problem+json';

/**
 * Checks responses against the API description: status, header fields, body and error code.
 * @returns a function that lists what is not described
 */
export const createAnswerCheck = (document: OpenApiDocument) => {
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
  ajv.addSchema(withClosedObjects(document), 'openapi.json');

  const checkBody = (pointer: string, response: Response, { headers, status, body }: Answer): string[] => {
    const type = String(headers['content-type'] ?? '').split(';')[0] ?? '';
    const content = response.content?.[type];
    if (content === undefined) return body || response.content ? [`body of type "${type}"`] : [];
    if (!/[/+]json$/.test(type)) return [];
    const validate = ajv.getSchema(`openapi.json#${pointer}/content/${encode(type)}/schema`);
    const value = JSON.parse(body);
    if (!validate?.(value)) return [`body (${ajv.errorsText(validate?.errors)})`];
    const codes = Object.values(content.examples ?? {}).map((example) => codeOf((example as { value: unknown }).value));
    const code = codeOf(value);
    return [
      ...(code !== undefined && !codes.includes(code) ? [`code ${code}`] : []),
      ...(type === PROBLEM && value.status !== status ? [`status ${value.status} in the body`] : []),
    ];
  };

  const checkHeaders = (response: Response, { headers }: Answer): string[] => {
    const described = new Map(
      Object.entries(response.headers ?? {}).map(([name, header]) => [name.toLowerCase(), resolve(document, header)]),
    );
    const names = Object.keys(headers).filter((name) => headers[name] !== undefined && !TRANSPORT.includes(name));
    const missing = [...described].filter(([name, { required }]) => required && !names.includes(name));
    return [
      ...names.filter((name) => !described.has(name)).map((name) => `header ${name}`),
      ...missing.map(([name]) => `absence of the header ${name}`),
    ];
  };

  return (answer: Answer): string[] => {
    const { pointer, responses } = findResponses(document, answer);
    const response = responses[answer.status];
    const problems =
      response === undefined
        ? ['status']
        : [
            ...checkHeaders(response, answer),
            ...(answer.method === 'HEAD' ? [] : checkBody(`${pointer}/${answer.status}`, response, answer)),
          ];
    const { method = 'invalid HTTP', path = '', status, body } = answer;
    return problems.map((what) => `${method} ${path} → ${status} ${body.slice(0, 200)}: its ${what} is not described`);
  };
};

/** The code of an Error or of problem details. */
const codeOf = (value: unknown) => {
  const { error, code } = value as { error?: number; code?: number };
  return error ?? code;
};

const findResponses = (document: OpenApiDocument, { method = '', path: target = '' }: Answer) => {
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  // A target may be an absolute URL.
  const path = target.replace(/^https?:\/\/[^/?]*/i, '').split('?')[0] ?? '';
  // A path without parameters goes before one that matches it (OpenAPI 3.1.1 §4.8.8.2).
  const paths = Object.entries(document.paths).sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')));
  const item = paths.find(([template, { servers = document.servers }]) => {
    const pattern = template.replace(/\{\w+\}/g, '[^/]+');
    return servers.some(({ url }) => new RegExp(`^${url.replace(/\/$/, '')}${pattern}$`).test(path));
  });
  const operation = item?.[1][verb as 'get'];
  return item && operation
    ? { pointer: `/paths/${encode(item[0])}/${verb}/responses`, responses: operation.responses as Responses }
    : { pointer: '/x-other-responses', responses: document['x-other-responses'] as Responses };
};

const resolve = (document: OpenApiDocument, header: Header | Reference): Header =>
  '$ref' in header
    ? ((document.components.headers as Record<string, Header>)[header.$ref.split('/').at(-1) ?? ''] as Header)
    : header;

/** Encodes a part of a JSON Pointer for a URI fragment (RFC 6901 §6). */
const encode = (part: string) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));

/** The description allows further members, for compatibility. Here, every member must be described. */
const withClosedObjects = (document: OpenApiDocument) =>
  JSON.parse(JSON.stringify(document), (_name, value) =>
    value?.type === 'object' && value.properties ? { ...value, additionalProperties: false } : value,
  );
