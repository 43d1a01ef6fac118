import createClient, { type Client, type Middleware } from 'openapi-fetch';
import { createBulk } from './bulk.ts';
import { stringifyExactJson } from './exact-json.ts';
import type { components, paths } from './openapi-types.ts';
import { isRedirect, problemIn, readJson } from './problem.ts';
import { createRetryingFetch } from './retry.ts';

export type Plant = components['schemas']['Plant'];
export type NewPlant = components['schemas']['NewPlant'];
export type StoredPlant = components['schemas']['StoredPlant'];
export type PlantPatch = components['schemas']['PlantPatch'];
export type { ExportOptions, ImportOptions, ImportResult, ImportSummary } from './bulk.ts';
export type { Problem } from './problem.ts';

export type PlantClient = Client<paths> & ReturnType<typeof createBulk>;

type PlantClientOptions = {
  /** The URL of the service with its base path: `https://plants.example.org/api/v1`. */
  baseUrl: string;
  /** An access token. */
  token: string;
  fetch?: (request: Request) => Promise<Response>;
  /**
   * By default, requests other than imports, exports and changes of many plants are sent again after 503, 429 and a lost connection, and changes have an
   * Idempotency-Key, so that they are carried out once.
   */
  retry?: boolean;
};

/**
 * A client for Plant Store: openapi-fetch (https://openapi-ts.dev/openapi-fetch) with the types of this API, and ids as
 * bigint. A call resolves with `data` or `error` (problem details). It throws only if its last attempt got no response from Plant Store, or
 * its signal ends it.
 */
export const createPlantClient = ({ baseUrl, token, retry = true, ...options }: PlantClientOptions): PlantClient => {
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/problem+json, application/json;q=0.9' };
  const fetch = keepRequests(options.fetch ?? ((request) => globalThis.fetch(request)));
  const client = createClient<paths>({
    baseUrl,
    headers,
    redirect: 'manual',
    bodySerializer: stringifyExactJson,
    fetch: retry ? createRetryingFetch({ fetch }) : fetch,
  });
  client.use(readBody);
  return Object.assign(client, createBulk({ baseUrl, headers, fetch }));
};

/** Keeps each Request as long as its response: Node.js does not see that a signal aborts one that is garbage collected. */
const keepRequests = (fetch: (request: Request) => Promise<Response>) => {
  const requests = new WeakMap<ReadableStream, Request>();
  return async (request: Request): Promise<Response> => {
    const response = await fetch(request);
    if (response.body !== null) requests.set(response.body, request);
    return response;
  };
};

/** Reads ids as bigint, and makes problem details of every error. Rows of an export are passed on. */
const readBody: Middleware = {
  onResponse: async ({ request, response }) => {
    const { ok, status, statusText } = response;
    const { method } = request;
    const isEmpty = method === 'HEAD' || status === 304 || (status === 204 && /^(DELETE|OPTIONS)$/.test(method));
    if (!isRedirect(response) && (isEmpty || (ok && isExport(response)))) return undefined;
    const { text, value } = await readJson(response);
    // Of an import in which too many rows failed the response is a summary, too.
    const isResult = ok || 'created' in value;
    const body = isResult ? text : stringifyExactJson(problemIn(value, response));
    const headers = new Headers(response.headers);
    if (!isResult) headers.set('Content-Type', 'application/problem+json');
    // Without a length, openapi-fetch does not call json().
    headers.set('Content-Length', String(body.length));
    const read = Object.assign(new Response(body, { status, statusText, headers }), { json: async () => value });
    // A `Link` is relative to the URL, which a new response lacks.
    return Object.defineProperty(read, 'url', { value: response.url });
  },
};

const isExport = ({ headers }: Response) =>
  /^(text\/csv|application\/x-ndjson)/.test(headers.get('Content-Type') ?? '');
