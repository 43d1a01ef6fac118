import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { DEFAULT_HEADERS } from '../../src/http/headers.ts';
import { describeExamples } from '../../src/openapi/describe-paths.ts';
import { commonHeaders, type Header, type Response, rateLimitHeaders } from '../../src/openapi/openapi.ts';
import { type openApiDocument, otherErrors } from '../../src/openapi-document.ts';
import { describePages, otherResponses } from './describe-pages.ts';

/** A response of a service. There is no path if Node.js could not parse the request. */
export type Answer = {
  method?: string;
  path?: string;
  status: number;
  headers: Record<string, unknown>;
  body: string;
};

type Servers = { url: string }[];
type Operation = { servers?: Servers; security: object[]; responses: Record<string, Response> };
/** The document with `otherResponses`, and with all references followed but those to schemas. */
type Checked = {
  servers: Servers;
  paths: Record<string, Record<string, Operation>>;
  otherResponses: Operation['responses'];
};

/** Header fields of HTTP itself, which the description does not contain. */
const TRANSPORT = ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'];

const PROBLEM = 'application/problem+json';

/**
 * Checks responses against the API description: status, header fields, body and error code.
 * @returns a function that lists what is not described
 */
export const createAnswerCheck = (described: typeof openApiDocument, basePath: string) => {
  const document = complete(described, basePath);
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true, validateSchema: false }));
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

  const checkHeaders = (response: Response, needsToken: boolean, { headers }: Answer): string[] => {
    const common = { ...commonHeaders, ...(needsToken && rateLimitHeaders) };
    const described = new Map<string, Header>([
      ...Object.keys(common).map((name): [string, Header] => [name.toLowerCase(), {}]),
      ...Object.keys(DEFAULT_HEADERS).map((name): [string, Header] => [name.toLowerCase(), { required: true }]),
      ...Object.entries(response.headers ?? {}).map(([name, header]): [string, Header] => [name.toLowerCase(), header]),
    ]);
    const names = Object.keys(headers).filter((name) => headers[name] !== undefined && !TRANSPORT.includes(name));
    const missing = [...described].filter(([name, { required }]) => required && !names.includes(name));
    return [
      ...names.filter((name) => !described.has(name)).map((name) => `header ${name}`),
      ...missing.map(([name]) => `absence of the header ${name}`),
    ];
  };

  return (answer: Answer): string[] => {
    const { pointer, responses, needsToken } = findResponses(document, answer);
    const response = responses[answer.status];
    const problems =
      response === undefined
        ? ['status']
        : [
            ...checkHeaders(response, needsToken, answer),
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

const findResponses = (document: Checked, { method = '', path: target = '' }: Answer) => {
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  // A target may be an absolute URL.
  const path = target.replace(/^https?:\/\/[^/?]*/i, '').split('?')[0] || '/';
  // A path without parameters goes before one that matches it (OpenAPI 3.1.1 §4.8.8.2).
  const paths = Object.entries(document.paths).sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')));
  const item = paths.find(([template, operations]) => {
    const servers = Object.values(operations)[0]?.servers ?? document.servers;
    const pattern = template.replace(/\{\w+\}/g, '[^/]+');
    return servers.some(({ url }) => new RegExp(`^${url.replace(/\/$/, '')}${pattern}$`).test(path));
  });
  const operation = item?.[1][verb];
  if (!item || !operation) return { pointer: '/otherResponses', responses: document.otherResponses, needsToken: false };
  const { responses, security } = operation;
  return { pointer: `/paths/${encode(item[0])}/${verb}/responses`, responses, needsToken: security.length > 0 };
};

const complete = (described: typeof openApiDocument, basePath: string): Checked => {
  const { components, paths } = described;
  // Without a trailing slash, as the paths begin with one.
  const servers = described.servers.map(({ url }) => ({
    url: new URL(url, `http://store${basePath}/openapi.json`).pathname.replace(/\/$/, ''),
  }));
  const document = {
    ...described,
    servers,
    paths: { ...paths, ...describePages(servers) },
    components: { ...components, examples: { ...components.examples, ...describeExamples(otherErrors) } },
    otherResponses,
  };
  const at = (reference: string): object =>
    reference
      .split('/')
      .slice(1)
      .reduce<object>((parent, key) => parent[key as never], document);
  const follow = (value: object): object =>
    JSON.parse(JSON.stringify(value), (_name, part) =>
      part?.$ref && !part.$ref.startsWith('#/components/schemas/') ? follow(at(part.$ref)) : part,
    );
  return follow(document) as Checked;
};

/** Encodes a part of a JSON Pointer for a URI fragment (RFC 6901 §6). */
const encode = (part: string) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));

/** The description allows further members, for compatibility. Here, every member must be described. */
const withClosedObjects = (document: object) =>
  JSON.parse(JSON.stringify(document), (_name, value) =>
    value?.type === 'object' && value.properties ? { ...value, additionalProperties: false } : value,
  );
