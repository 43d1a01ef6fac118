import type { components } from './openapi-types.ts';

/** Problem details (RFC 9457): the `error` of every unsuccessful response. `code` is stable. */
export type Problem = components['schemas']['Problem'];

/** Converts an Error to problem details. The service responds with an Error if it cannot parse a request, whatever the Accept header. */
export const problemOf = ({ error, message }: components['schemas']['Error'], response: Response): Problem => ({
  type: 'about:blank',
  title: response.statusText,
  status: response.status,
  detail: message,
  code: error,
});
