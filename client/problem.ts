import { parseExactJson } from './exact-json.ts';
import type { components } from './openapi-types.ts';

/** Problem details (RFC 9457): the `error` of every unsuccessful response. `code` is stable. */
export type Problem = components['schemas']['Problem'];

/** Redirects are not followed: the token and the plant are not for another server. A browser tells no more of one than its type. */
export const isRedirect = ({ type, status }: Response): boolean =>
  type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304);

/** For example the error page of a proxy, or a redirect. */
export const notPlantStore = (response: Response, cause?: unknown): Error => {
  const advice = isRedirect(response) ? ' It redirects: use the URL of Plant Store itself.' : '';
  return new Error(`The response has status ${response.status} and is not from Plant Store.${advice}`, { cause });
};

/** @throws {Error} the response is not from Plant Store */
export const readJson = async (response: Response): Promise<{ text: string; value: object }> => {
  const text = await response.text();
  if (isRedirect(response)) throw notPlantStore(response);
  try {
    return { text, value: Object(parseExactJson(text)) };
  } catch (error) {
    throw notPlantStore(response, error);
  }
};

/**
 * The problem details in the body of an unsuccessful response. If the service cannot parse a request, or it arrives too slowly, the body is
 * an Error, whatever the Accept header.
 * @throws {Error} the response is not from Plant Store
 */
export const problemIn = (body: object, response: Response): Problem => {
  // A gRPC gateway also sends a `code`, of one or two digits.
  if ('code' in body && typeof body.code === 'number' && body.code >= 1000) return body as Problem;
  if (!('error' in body && typeof body.error === 'number')) throw notPlantStore(response);
  const { error, message } = body as components['schemas']['Error'];
  return { type: 'about:blank', title: response.statusText, status: response.status, detail: message, code: error };
};
