import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { z } from 'zod';
import { OperationalError } from '../errors.ts';
import { errorSchema } from '../http/error-response.ts';
import { version } from '../version.ts';

/** A service that a command talks to over HTTP, instead of using its database. */
export type RemoteService = {
  /** With the base path, without a slash at the end. */
  url: string;
  token: string;
  agent: http.Agent;
};

/** Whether a request was carried out. `refused`: the service itself responded, and its message says what became of it. */
type RequestOutcome = 'refused' | 'not sent' | 'unknown';

/** The service refused the request, or there is no response of a Plant Store. */
export class RemoteError extends OperationalError {
  readonly outcome: RequestOutcome;

  constructor(message: string, outcome: RequestOutcome, cause?: unknown) {
    super(message, { cause });
    this.outcome = outcome;
  }
}

export type RemoteRequest = {
  method?: string;
  /** Below the base path. */
  path: string;
  /** A parameter that is undefined is left out, and one with an array is repeated. */
  query: object;
  headers?: Record<string, string>;
  /** Its signal is aborted once nothing more is to be sent. */
  body?: (signal: AbortSignal) => AsyncIterable<Buffer> | Iterable<Buffer>;
  signal: AbortSignal;
};

/** How long connecting may take, in ms. */
const CONNECT_TIMEOUT = 15_000;
/** How long a connection may be silent before the system looks whether the other side still is there, in ms. */
const KEEP_ALIVE_DELAY = 30_000;

/** Sends a request, and waits for the response without limit. @throws {RemoteError} errors of the body */
export const send = async ({ url, token, agent }: RemoteService, request: RemoteRequest): Promise<IncomingMessage> => {
  const { method = 'GET', path, query, headers, body, signal } = request;
  const parameters = Object.entries(query).flatMap(([name, value = []]) =>
    [value].flat().map((one) => [name, `${one}`]),
  );
  const target = new URL(`${url}${path}?${new URLSearchParams(parameters)}`);
  const own = { Authorization: `Bearer ${token}`, Accept: 'application/json', 'User-Agent': `plant-store/${version}` };
  const failed = new AbortController();
  const stopped = AbortSignal.any([signal, failed.signal]);
  const options = { method, headers: { ...own, ...headers }, agent, signal: stopped };
  const outgoing = (target.protocol === 'https:' ? https : http).request(target, options);
  outgoing.setSocketKeepAlive(true, KEEP_ALIVE_DELAY);
  const timer = setTimeout(() => {
    const { connecting = true, secureConnecting = false } = (outgoing.socket ?? {}) as Partial<Connecting>;
    if (connecting || secureConnecting) failed.abort(new Error(`no connection within ${CONNECT_TIMEOUT / 1000} s`));
  }, CONNECT_TIMEOUT);
  // Without a listener Node.js closes the connection, and there is no event that says so.
  outgoing.once('upgrade', (_response, socket) => {
    socket.destroy();
    failed.abort(new Error('it switches to another protocol'));
  });
  // The service may respond before it has read the body, and then close the connection.
  outgoing.on('error', () => {});
  // Before it has a socket, a request that is stopped emits nothing.
  const responded = once(outgoing, 'response', { signal: stopped }) as Promise<[IncomingMessage]>;
  const uploading = new AbortController();
  // The service waits for a header for a shorter time than for the first row.
  if (body) outgoing.flushHeaders();
  let bodyError: unknown;
  const upload = async () => {
    for await (const piece of body?.(uploading.signal) ?? []) {
      if (!outgoing.write(piece)) await once(outgoing, 'drain', { signal: uploading.signal }).catch(() => {});
      if (uploading.signal.aborted) return;
    }
    outgoing.end();
  };
  upload().catch((error) => {
    if (uploading.signal.aborted) return;
    bodyError = error;
    outgoing.destroy(error);
  });
  try {
    const [response] = await responded;
    return response;
  } catch (error) {
    const outcome = method !== 'GET' && outgoing.writableFinished ? 'unknown' : 'not sent';
    throw bodyError ?? new RemoteError(describeFailure(url, (stopped.reason ?? error) as Error), outcome, error);
  } finally {
    clearTimeout(timer);
    uploading.abort();
  }
};

/** TypeScript has no type for the second, which a TLS socket has. */
type Connecting = { connecting: boolean; secureConnecting: boolean };

/** What to do about an error, by its code. */
const ADVICE: [code: RegExp, advice: string][] = [
  [/ALTNAME/, 'Use a host that its certificate names.'],
  [/CERT_(HAS_EXPIRED|NOT_YET_VALID)/, 'Renew its certificate, or set the clock of this machine.'],
  [
    /CERT|ISSUER|SIGNATURE/,
    'If its certificate is from an authority of your own, set NODE_EXTRA_CA_CERTS to a PEM file.',
  ],
  [
    /^(EPROTO|ERR_SSL)/,
    'Perhaps it, or the proxy of HTTPS_PROXY, does not speak TLS: check whether the URL begins with http: or https:.',
  ],
  [/^ERR_PROXY/, 'Check HTTPS_PROXY, its user and password, and what the proxy allows.'],
  [/^HPE_/, 'It does not speak HTTP: check the host, the port, and whether the URL begins with http: or https:.'],
];

const describeFailure = (url: string, error: Error): string => {
  // Of the last address of the host, if it has several.
  const last = error instanceof AggregateError ? error.errors.at(-1) : error;
  const { code = '', message } = last as NodeJS.ErrnoException;
  if (/^(ECONNRESET|EPIPE)$/.test(code))
    return `The connection to ${url} was lost. See the log of the service and of the proxies in between.`;
  const advice =
    ADVICE.find(([pattern]) => pattern.test(code))?.[1] ??
    'Check the URL, that the service runs, and HTTPS_PROXY or HTTP_PROXY if set.';
  // OpenSSL's message is several lines.
  const reason = /^(EPROTO|ERR_SSL)/.test(code) ? 'the TLS handshake failed' : message.replace(/\.$/, '');
  return `${url} cannot be reached: ${reason}. ${advice}`;
};

/** The maximum size of a response that is read as a whole, in bytes. The errors of an import take the most. */
const MAX_RESPONSE = 16_777_216;

/**
 * Reads a JSON object, in which each `id` is a bigint.
 * @param result the schema of the response to a request that was carried out
 * @throws {RemoteError} the response is an error, not complete, or not from a Plant Store
 */
export const readResult = async <Result>(
  response: IncomingMessage,
  { url }: RemoteService,
  result: z.ZodType<Result>,
): Promise<Result> => {
  const value = await readJson(response, url);
  const { data } = result.safeParse(value);
  if (data !== undefined) return data;
  const { data: error } = errorSchema.safeParse(value);
  if (error) throw new RemoteError(`${error.message}${ADVICE_ON_STATUS[response.statusCode ?? 0] ?? ''}`, 'refused');
  throw notPlantStore(response, url);
};

/** @returns undefined if the response is not JSON, or too long to be one of ours */
const readJson = async (response: IncomingMessage, url: string): Promise<unknown> => {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      size += chunk.length;
      if (size > MAX_RESPONSE) return undefined;
      chunks.push(chunk);
    }
    return parse(Buffer.concat(chunks).toString(), (name, member, { source = '' }) =>
      name === 'id' && typeof member === 'number' ? BigInt(source) : member,
    );
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw new RemoteError(describeFailure(url, error as Error), 'unknown', error);
  }
};

/** https://tc39.es/proposal-json-parse-with-source/; TypeScript has no types for it yet. */
const { parse } = JSON as unknown as {
  parse: (text: string, revive: (name: string, value: unknown, context: { source?: string }) => unknown) => unknown;
};

const WHERE = 'PLANT_STORE_TOKEN, or --token-file FILE';
const ADVICE_ON_STATUS: Record<number, string> = {
  401: ` Use a token of this service: ${WHERE}.`,
  403: ` Use a token of this service that has this scope: ${WHERE}.`,
  404: ' Check that the URL ends with the base path of the service, if it has one.',
};

/** What to do about a response of a proxy, by its status. */
const PROXY_ADVICE: Record<number, string> = {
  407: 'Check the user and password of HTTP_PROXY.',
  413: 'Raise the limit on the size of a body at the proxy in between (nginx: client_max_body_size).',
  504: 'See whether the service runs; or raise the time that the proxy in between waits for it (nginx: proxy_read_timeout).',
};

/** Some other server, or a proxy in front of the service. */
export const notPlantStore = ({ statusCode = 0, headers }: IncomingMessage, url: string): RemoteError => {
  const { location } = headers;
  if (statusCode >= 300 && statusCode < 400 && location)
    return new RemoteError(`${url} redirects to ${location}. Use the URL of the Plant Store itself.`, 'not sent');
  const { 'content-type': type = 'no content type' } = headers;
  const said = `${url} responded with status ${statusCode} and ${type}, not as a Plant Store does`;
  // A proxy may have lost the service, not have waited for it, or cut off its response.
  const mayBeDone = statusCode >= 500 || (statusCode < 300 && type.startsWith('application/json'));
  const outcome = mayBeDone ? 'unknown' : 'not sent';
  const advice = PROXY_ADVICE[statusCode] ?? 'Check the URL, with its base path, and the proxies in between.';
  return new RemoteError(`${said}. ${advice}`, outcome);
};
