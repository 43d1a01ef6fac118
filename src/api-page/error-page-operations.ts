import { errorCodes } from '../http/error-codes.ts';
import { ifMatch, ifNoneMatch, notModified } from '../openapi/conditional-get.ts';
import { errorResponses } from '../openapi/error-responses.ts';
import { headersOf } from '../openapi/headers.ts';
import type { Operation, PathItem, Response } from '../openapi/openapi.ts';

const TAGS: Operation['tags'] = ['Description'];

const page: Response = {
  description: 'The page.',
  headers: headersOf(200, 'Content-Security-Policy', 'ETag'),
  content: { 'text/html': { schema: { type: 'string' } } },
};

/** The description of what createErrorPageRoutes serves. */
export const errorPageOperations = {
  '/docs/errors': {
    get: {
      operationId: 'listErrors',
      tags: TAGS,
      summary: 'Read which errors there are',
      security: [],
      parameters: [ifMatch, ifNoneMatch],
      responses: {
        200: page,
        304: notModified('Content-Security-Policy'),
        ...errorResponses('preconditionFailed'),
      },
    },
  },
  '/docs/errors/{code}': {
    get: {
      operationId: 'explainError',
      tags: TAGS,
      summary: 'Read what an error means and what to do',
      security: [],
      parameters: [
        {
          name: 'code',
          in: 'path',
          required: true,
          description: 'The code of the error',
          schema: { type: 'integer', format: 'int32', enum: Object.values(errorCodes).map(({ code }) => code) },
          example: errorCodes.idTaken.code,
        },
        ifMatch,
        ifNoneMatch,
      ],
      responses: {
        200: page,
        304: notModified('Content-Security-Policy'),
        ...errorResponses('pathUnknown', 'preconditionFailed'),
      },
    },
  },
} satisfies Record<string, PathItem>;
