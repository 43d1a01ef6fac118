import { errorResponses } from '../openapi/error-responses.ts';
import { headersOf } from '../openapi/headers.ts';
import type { PathItem } from '../openapi/openapi.ts';
import { indexLinks } from './index-routes.ts';

/** The description of what createIndexRoutes serves, but for the paths with a slash too many. */
export const indexOperations = (basePath: string) => {
  const links = indexLinks(basePath);
  return {
    '/': {
      servers: [
        { url: '/', description: 'At the root' },
        ...(basePath ? [{ url: basePath, description: 'Below the base path' }] : []),
      ],
      get: {
        operationId: 'getIndex',
        tags: ['Description'],
        summary: 'Find the paths of the store',
        security: [],
        responses: {
          200: {
            description: 'The paths of the store.',
            headers: headersOf(200),
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
          302: { description: 'The API page, for a client that prefers HTML.', headers: headersOf(302, 'Location') },
          ...errorResponses(),
        },
      },
    },
  } satisfies Record<string, PathItem>;
};
