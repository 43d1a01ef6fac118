import createClient, { type Client, type Middleware } from 'openapi-fetch';
import { parseExactJson, stringifyExactJson } from './exact-json.ts';
import type { components, paths } from './openapi-types.ts';

export type Plant = components['schemas']['Plant'];
export type NewPlant = components['schemas']['NewPlant'];
export type StoredPlant = components['schemas']['StoredPlant'];
export type PlantPatch = components['schemas']['PlantPatch'];
/** Problem details (RFC 9457), the `error` of every answer but success; its `code` is stable. */
export type Problem = components['schemas']['Problem'];

export type PlantClient = Client<paths>;

type PlantClientOptions = {
  /** Where the store is, with its base path: `https://plants.example.org/api/v1`. */
  baseUrl: string;
  /** An access token. */
  token: string;
  fetch?: (request: Request) => Promise<Response>;
};

/**
 * A client of a store: openapi-fetch (https://openapi-ts.dev/openapi-fetch) with the store's operations, its ids as bigint.
 * A call answers with `data`, or with `error` as problem details, and throws only where there is no answer at all.
 */
export const createPlantClient = ({ baseUrl, token, fetch }: PlantClientOptions): PlantClient => {
  const client = createClient<paths>({
    baseUrl,
    headers: { Authorization: `Bearer ${token}`, Accept: 'application/problem+json, application/json;q=0.9' },
    bodySerializer: stringifyExactJson,
    ...(fetch && { fetch }),
  });
  client.use(exactJson, problems);
  return client;
};

const exactJson: Middleware = {
  onRequest: ({ request }) => {
    // The one type of a patch that the store takes; openapi-fetch says application/json of every body.
    if (request.method === 'PATCH') request.headers.set('Content-Type', 'application/merge-patch+json');
  },
  onResponse: async ({ response }) => {
    if (response.status !== 200 || !response.headers.get('Content-Type')?.startsWith('application/json'))
      return undefined;
    const text = await response.text();
    const headers = new Headers(response.headers);
    // Without a length, openapi-fetch does not call json().
    headers.set('Content-Length', String(text.length));
    const exact = new Response(text, { status: response.status, statusText: response.statusText, headers });
    return Object.assign(exact, { json: async () => parseExactJson(text) });
  },
};

/** A request that the store could not parse or that arrived too slowly is answered with an Error, whatever it asked for. */
const problems: Middleware = {
  onResponse: async ({ response }) => {
    const { ok, status, statusText } = response;
    if (ok || !response.headers.get('Content-Type')?.startsWith('application/json')) return undefined;
    const body = (await response
      .clone()
      .json()
      .catch(() => undefined)) as components['schemas']['Error'] | undefined;
    if (typeof body?.error !== 'number') return undefined;
    const problem: Problem = {
      type: 'about:blank',
      title: statusText,
      status,
      detail: body.message,
      code: body.error,
    };
    const headers = new Headers(response.headers);
    headers.set('Content-Type', 'application/problem+json');
    headers.delete('Content-Length');
    return new Response(JSON.stringify(problem), { status, statusText, headers });
  },
};
