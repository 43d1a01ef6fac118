import { indexLinks } from '../../src/documentation/documentation-routes.ts';
import { errors } from '../../src/errors.ts';
import { describeErrors, HTTP_ERRORS } from '../../src/openapi/describe-paths.ts';
import type { Header, MediaType, Response } from '../../src/openapi/openapi.ts';
import { otherErrors } from '../../src/openapi-document.ts';

// What check-answer.ts needs to know besides the OpenAPI document: pages, and requests that are no operation.

const optional = (...names: string[]) => Object.fromEntries(names.map((name): [string, Header] => [name, {}]));
const required = (...names: string[]) =>
  Object.fromEntries(names.map((name): [string, Header] => [name, { required: true }]));

const respond = (headers: Record<string, Header>, content: Record<string, MediaType> = {}): Response => {
  const isEmpty = Object.keys(content).length === 0;
  return { description: '', headers, ...(!isEmpty && { content }) };
};

const links = Object.keys(indexLinks(''));
const index: MediaType['schema'] = {
  type: 'object',
  required: links,
  properties: Object.fromEntries(links.map((name) => [name, { type: 'string', format: 'uri-reference' }])),
};
const text: MediaType = { schema: { type: 'string' } };
const described = describeErrors([...otherErrors, ...HTTP_ERRORS, errors.preconditionFailed]);

const page = {
  200: respond(required('ETag', 'Content-Security-Policy'), { 'text/html': text }),
  304: respond(required('ETag', 'Content-Security-Policy')),
};

const responses = {
  '/': { 200: respond({}, { 'application/json': { schema: index } }), 302: respond(required('Location')) },
  '/docs': page,
  '/docs/errors': page,
  '/docs/{file}': {
    200: respond(required('ETag'), { 'text/css': text, 'text/javascript': text, 'image/svg+xml': text }),
    304: respond(required('ETag')),
  },
};

/** The paths of pages, for `servers` of an OpenAPI document. */
export const describePages = (servers: { url: string }[]) =>
  Object.fromEntries(
    Object.entries(responses).map(([path, own]) => [
      path,
      {
        get: {
          servers: path === '/' ? [{ url: '/' }, ...servers] : servers,
          security: [],
          responses: { ...own, ...described },
        },
      },
    ]),
  );

const PREFLIGHT = ['Access-Control-Allow-Headers', 'Access-Control-Allow-Methods', 'Access-Control-Max-Age'];

/** Responses to requests that are no operation. OpenAPI has no place for them. */
export const otherResponses = {
  ...described,
  204: respond(optional('Accept-Patch', 'Allow', ...PREFLIGHT)),
  308: respond(required('Location')),
  405: { ...described[405], headers: optional('Accept-Patch', 'Allow') },
};
