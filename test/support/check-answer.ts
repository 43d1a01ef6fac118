import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Header, PathItem, Reference, Response } from '../../src/openapi/openapi.ts';
import type { OpenApiDocument } from '../../src/openapi/openapi-document.ts';

/** What a service sent; to no path where what came was not a request that Node.js can parse. */
export type Answer = {
  method?: string;
  path?: string;
  status: number;
  headers: Record<string, unknown>;
  body: string;
};

type Responses = Record<string, Response>;

/** What HTTP needs to bring an answer over; a document does not say it. */
const TRANSPORT = ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'];

const PROBLEM = 'application/problem+json';

/**
 * Checks answers against the description of the interface: its status, its headers, its body and the Error's code.
 * @returns a function that says what of an answer is not described
 */
export const createAnswerCheck = (document: OpenApiDocument) => {
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
  ajv.addSchema(withClosedObjects(document), 'openapi.json');

  const checkBody = (pointer: string, response: Response, { headers, status, body }: Answer): string[] => {
    const type = String(headers['content-type'] ?? '').split(';')[0] ?? '';
    const content = response.content?.[type];
    if (content === undefined) return body || response.content ? [`body of type "${type}"`] : [];
    if (!type.endsWith('json')) return [];
    const validate = ajv.getSchema(`openapi.json#${pointer}/content/${encode(type)}/schema`);
    const value = JSON.parse(body);
    if (!validate?.(value)) return [`body (${ajv.errorsText(validate?.errors)})`];
    const codes = Object.values(content.examples ?? {}).map((example) => codeOf(example.value));
    const code = codeOf(value);
    return [
      ...(code !== undefined && !codes.includes(code) ? [`code ${code}`] : []),
      ...(type === PROBLEM && value.status !== status ? [`status ${value.status} in the body`] : []),
    ];
  };

  const checkHeaders = (response: Response, { headers }: Answer): string[] => {
    const described = new Map(
      Object.entries(response.headers).map(([name, header]) => [name.toLowerCase(), resolve(document, header)]),
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
    const { method = 'what is not HTTP', path = '', status, body } = answer;
    return problems.map((what) => `${method} ${path} → ${status} ${body.slice(0, 200)}: its ${what} is not described`);
  };
};

/** The stable code, in an Error or in problem details. */
const codeOf = (value: unknown) => {
  const { error, code } = value as { error?: number; code?: number };
  return error ?? code;
};

const findResponses = (document: OpenApiDocument, { method = '', path: target = '' }: Answer) => {
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  // A target may be a whole URL.
  const path = target.replace(/^https?:\/\/[^/?]*/i, '').split('?')[0] ?? '';
  const item = Object.entries<PathItem>(document.paths).find(([template, { servers = document.servers }]) => {
    const pattern = template.replace(/\{\w+\}/g, '[^/]+');
    return servers.some(({ url }) => new RegExp(`^${url.replace(/\/$/, '')}${pattern}$`).test(path));
  });
  const operation = item?.[1][verb as 'get'];
  return item && operation
    ? { pointer: `/paths/${encode(item[0])}/${verb}/responses`, responses: operation.responses as Responses }
    : { pointer: '/x-answers-to-no-operation', responses: document['x-answers-to-no-operation'] as Responses };
};

const resolve = (document: OpenApiDocument, header: Header | Reference): Header =>
  '$ref' in header
    ? ((document.components.headers as Record<string, Header>)[header.$ref.split('/').at(-1) ?? ''] as Header)
    : header;

/** A part of a JSON Pointer in the fragment of a URI (RFC 6901 §6). */
const encode = (part: string) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));

/** The document lets clients expect members that are not there yet; a member that is sent shall be described. */
const withClosedObjects = (document: OpenApiDocument) =>
  JSON.parse(JSON.stringify(document), (_name, value) =>
    value?.type === 'object' && value.properties ? { ...value, additionalProperties: false } : value,
  );
