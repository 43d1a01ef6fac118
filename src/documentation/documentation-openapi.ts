import type { ErrorCode } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { conditionalGet, notModified, type Operation, type Path } from '../openapi/describe-paths.ts';
import { indexLinks } from './index-routes.ts';

const TAGS: Operation['tags'] = ['Documentation'];

const text = { schema: { type: 'string' as const } };
const page: Operation['responses'][number] = {
  description: 'The page.',
  headers: ['Content-Security-Policy', 'ETag'],
  content: { 'text/html': text },
};
const pageNotModified = { ...notModified, headers: ['Content-Security-Policy' as const, 'ETag' as const] };
const { pathUnknown, preconditionFailed } = commonErrors;

/** `errorCodes`: every error that has a page. */
export const documentationPaths = ({ basePath, errorCodes }: { basePath: string; errorCodes: readonly ErrorCode[] }) =>
  ({
    '/': describeIndex(basePath),
    '/openapi.json': {
      get: {
        operationId: 'getDescription',
        tags: TAGS,
        summary: 'Get this OpenAPI document',
        parameters: conditionalGet,
        responses: {
          200: {
            description: 'This document.',
            headers: ['ETag'],
            content: { 'application/json': { schema: { type: 'object' } } },
          },
          304: notModified,
        },
        errors: [preconditionFailed],
      },
    },
    '/docs/errors': {
      get: {
        operationId: 'listErrors',
        tags: TAGS,
        summary: 'List all errors',
        parameters: conditionalGet,
        responses: { 200: page, 304: pageNotModified },
        errors: [preconditionFailed],
      },
    },
    '/docs/errors/{code}': {
      get: {
        operationId: 'explainError',
        tags: TAGS,
        summary: 'Explain an error and what to do about it',
        parameters: [
          {
            name: 'code',
            in: 'path',
            required: true,
            description: 'The code of the error',
            schema: { type: 'integer', format: 'int32', enum: errorCodes.map(({ code }) => code) },
            example: pathUnknown.code,
          },
          ...conditionalGet,
        ],
        responses: { 200: page, 304: pageNotModified },
        errors: [pathUnknown, preconditionFailed],
      },
    },
    '/docs': {
      get: {
        operationId: 'getPage',
        tags: TAGS,
        summary: 'Read this document as a web page and try the operations',
        parameters: conditionalGet,
        responses: { 200: page, 304: pageNotModified },
        errors: [preconditionFailed],
      },
    },
    '/docs/{file}': {
      get: {
        operationId: 'getPageFile',
        tags: TAGS,
        summary: 'Get a file of the page',
        parameters: [
          {
            name: 'file',
            in: 'path',
            required: true,
            description: 'The name of the file',
            schema: { type: 'string' },
            example: 'logo.svg',
          },
          ...conditionalGet,
        ],
        responses: {
          200: {
            description: 'The file.',
            headers: ['ETag'],
            content: { 'text/css': text, 'text/javascript': text, 'image/svg+xml': text },
          },
          304: notModified,
        },
        errors: [pathUnknown, preconditionFailed],
      },
    },
  }) satisfies Record<string, Path>;

const describeIndex = (basePath: string) => {
  const links = indexLinks(basePath);
  return {
    servers: [
      { url: '/', description: 'At the root' },
      ...(basePath ? [{ url: basePath, description: 'Below the base path' }] : []),
    ],
    get: {
      operationId: 'getIndex',
      tags: TAGS,
      summary: 'List the paths of the service',
      responses: {
        200: {
          description: 'The paths of the service.',
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: Object.keys(links),
                properties: Object.fromEntries(
                  Object.keys(links).map((name) => [name, { type: 'string', format: 'uri-reference' }]),
                ),
              },
              examples: { links: { value: links } },
            },
          },
        },
        302: { description: 'The API page, for a client that prefers HTML.', headers: ['Location'] },
      },
    },
  } satisfies Path;
};
