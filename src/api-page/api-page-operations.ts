import { ifMatch, ifNoneMatch, notModified } from '../openapi/conditional-get.ts';
import { errorResponses } from '../openapi/error-responses.ts';
import { headersOf } from '../openapi/headers.ts';
import type { Operation, PathItem } from '../openapi/openapi.ts';

const TAGS: Operation['tags'] = ['Description'];

const text = { schema: { type: 'string' } };

/** The description of what createApiPageRoutes serves. */
export const apiPageOperations = {
  '/docs': {
    get: {
      operationId: 'getPage',
      tags: TAGS,
      summary: 'Read this description as a page, and try the operations',
      security: [],
      parameters: [ifMatch, ifNoneMatch],
      responses: {
        200: {
          description: 'The page.',
          headers: headersOf(200, 'Content-Security-Policy', 'ETag'),
          content: { 'text/html': text },
        },
        304: notModified('Content-Security-Policy'),
        ...errorResponses('preconditionFailed'),
      },
    },
  },
  '/docs/{file}': {
    get: {
      operationId: 'getPageFile',
      tags: TAGS,
      summary: 'Get what the page is made of',
      security: [],
      parameters: [
        {
          name: 'file',
          in: 'path',
          required: true,
          description: 'The name of the file',
          schema: { type: 'string' },
          example: 'logo.svg',
        },
        ifMatch,
        ifNoneMatch,
      ],
      responses: {
        200: {
          description: 'The file.',
          headers: headersOf(200, 'ETag'),
          content: { 'text/css': text, 'text/javascript': text, 'image/svg+xml': text },
        },
        304: notModified(),
        ...errorResponses('pathUnknown', 'preconditionFailed'),
      },
    },
  },
} satisfies Record<string, PathItem>;
