import createClient, { type Client, type Middleware } from 'openapi-fetch';
import { createBulk } from './bulk.ts';
import { parseExactJson, stringifyExactJson } from './exact-json.ts';
import type { components, paths } from './openapi-types.ts';
import { problemOf } from './problem.ts';
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
 * bigint. A call resolves with `data` or `error` (problem details). It throws only if its last attempt got no response, or its signal ends it.
 */
export const createPlantClient = ({ baseUrl, token, retry = true, ...options }: PlantClientOptions): PlantClient => {
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/problem+json, application/json;q=0.9' };
  const fetch = keepRequests(options.fetch ?? ((request) => globalThis.fetch(request)));
  const client = createClient<paths>({
    baseUrl,
    headers,
    bodySerializer: stringifyExactJson,
    fetch: retry ? createRetryingFetch({ fetch }) : fetch,
  });
  client.use(exactJson, problems);
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

const exactJson: Middleware = {
  onResponse: async ({ response }) => {
    if (response.status !== 200 || !response.headers.get('Content-Type')?.startsWith('application/json'))
      return undefined;
    const text = await response.text();
    const headers = new Headers(response.headers);
    // Without a length, openapi-fetch does not call json().
    headers.set('Content-Length', String(text.length));
    const exact = new Response(text, { status: response.status, statusText: response.statusText, headers });
    return withUrl(Object.assign(exact, { json: async () => parseExactJson(text) }), response);
  },
};

/** A `Link` is relative to the URL, which a new response lacks. */
const withUrl = (response: Response, { url }: Response) => Object.defineProperty(response, 'url', { value: url });

/** If the service cannot parse a request, or it arrives too slowly, the response is an Error. Converts it to problem details. */
const problems: Middleware = {
  onResponse: async ({ response }) => {
    const { ok, status, statusText } = response;
    if (ok || !response.headers.get('Content-Type')?.startsWith('application/json')) return undefined;
    const body = (await response
      .clone()
      .json()
      .catch(() => undefined)) as components['schemas']['Error'] | undefined;
    if (typeof body?.error !== 'number') return undefined;
    const problem = problemOf(body, response);
    const headers = new Headers(response.headers);
    headers.set('Content-Type', 'application/problem+json');
    headers.delete('Content-Length');
    return withUrl(new Response(JSON.stringify(problem), { status, statusText, headers }), response);
  },
};
