import { ifMatch, ifNoneMatch, notModified } from './conditional-get.ts';
import { errorResponses } from './error-responses.ts';
import { headersOf } from './headers.ts';
import type { PathItem } from './openapi.ts';

/** The description of what createOpenApiRoutes serves. */
export const openApiOperations = {
  '/openapi.json': {
    get: {
      operationId: 'getDescription',
      tags: ['Description'],
      summary: 'Get this description',
      security: [],
      parameters: [ifMatch, ifNoneMatch],
      responses: {
        200: {
          description: 'This document.',
          headers: headersOf(200, 'ETag'),
          content: { 'application/json': { schema: { type: 'object' } } },
        },
        304: notModified(),
        ...errorResponses('preconditionFailed'),
      },
    },
  },
} satisfies Record<string, PathItem>;
