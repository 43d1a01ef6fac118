import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Express } from 'express';
import { OperationalError, StoreError } from '../errors.ts';
import { createRefusals, type RefusalsOptions, URL_WRONG } from './client-errors.ts';
import { type ConnectionsOptions, createConnections } from './connections.ts';

/** The maximum number of header fields. Each takes memory beside its bytes, and every connection may have a request in progress. */
const MAX_HEADER_FIELDS = 100;

/** How often to close idle connections while the server stops, in ms. */
const IDLE_CLOSE_INTERVAL = 50;

type HttpServerOptions = ConnectionsOptions &
  Pick<RefusalsOptions, 'onRefused'> & {
    /** Responds to a request. Calls `next` if the target has no path, or if a response fails after it began. */
    handler: (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
    /** Default: the classes of Node.js. */
    classes?: ReturnType<typeof createMessageClasses>;
    /** How long a connection may be idle, in ms. */
    keepAliveTimeout?: number;
    /** The variables that configure the address, for error messages. */
    addressVariables?: string;
    /** How often to look for slow headers, and for clients that reset a connection that is not being read, in ms. */
    checkInterval?: number;
  };

/** An HTTP server that stops without losing requests. */
export const createHttpServer = (options: HttpServerOptions) => {
  const { handler, classes, requestTimeout, addressVariables = 'PORT or HOST' } = options;
  const { checkInterval = 1000, keepAliveTimeout = 75_000 } = options;
  const server = createServer({
    ...classes,
    // What reads a body limits its time.
    requestTimeout: 0,
    headersTimeout: requestTimeout,
    // The app responds to a request without a Host with an Error.
    requireHostHeader: false,
    keepAliveTimeout,
    connectionsCheckingInterval: checkInterval,
  });
  server.timeout = requestTimeout;
  server.maxHeadersCount = MAX_HEADER_FIELDS;
  const connections = createConnections(options);
  const { refuseRequest, refuseConnect, respondToClientError } = createRefusals({ ...options, connections });
  let closing = false;
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    connections.begin(request, response);
    if (closing) response.setHeader('Connection', 'close');
    const target = toOriginForm(request.method, request.url ?? '');
    if (target === undefined) return refuseRequest(response, URL_WRONG);
    request.url = target;
    handler(request, response, () => refuseRequest(response, new StoreError('requestNotHttp')));
  };
  server.on('connection', connections.add);
  server.on('timeout', connections.onTimeout);
  server.on('request', onRequest);
  // By default, Node.js sends 100 Continue before the token is checked. The body reader sends it instead.
  server.on('checkContinue', onRequest);
  // Unknown expectations are ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', onRequest);
  server.on('connect', (_request, socket: Socket) => refuseConnect(socket));
  server.on('clientError', respondToClientError);
  let connectionCheck: NodeJS.Timeout | undefined;
  return {
    inUse: connections.inUse,
    counts: connections.counts,
    /** @returns the port */
    listen: async (host: string, port: number): Promise<number> => {
      try {
        await once(server.listen(port, host), 'listening');
      } catch (error) {
        const advice = `Set ${addressVariables} to an address that the service can listen on.`;
        throw new OperationalError(`${(error as Error).message}. ${advice}`, { cause: error });
      }
      connectionCheck = setInterval(connections.probe, checkInterval).unref();
      return (server.address() as AddressInfo).port;
    },
    /**
     * Stops the server. From now on, each response closes its connection. New connections are accepted for another
     * `delay` ms, so that load balancers can notice. Resolves once the requests in progress have their responses; after
     * another `timeout` ms their connections are destroyed.
     */
    close: async ({ delay, timeout }: { delay: number; timeout: number }) => {
      closing = true;
      // Otherwise a client might send its next request on a connection that is about to close.
      connections.closeBehindResponses();
      if (delay > 0) await setTimeout(delay);
      connections.stopWaiting();
      const closeIdle = setInterval(() => {
        if (!connections.isSending()) server.closeIdleConnections();
      }, IDLE_CLOSE_INTERVAL);
      const cutOff = globalThis.setTimeout(() => server.closeAllConnections(), timeout);
      // http.Server's own close would destroy the connections of responses that are complete but not yet sent.
      await new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
      clearInterval(closeIdle);
      clearInterval(connectionCheck);
      clearTimeout(cutOff);
      // Stops the timers of http.Server.
      server.close();
    },
  };
};

export type HttpServer = ReturnType<typeof createHttpServer>;

const ABSOLUTE_FORM = /^https?:\/\/[^/?@]+(?=[/?]|$)/i;

/**
 * The target of a request as a path and query. A client may send an absolute URL (RFC 9112 §3.2.2).
 * `*` stands for the whole server (§3.2.4).
 * @returns undefined if the target is neither, or has a fragment: its rest would be ignored, such as `#1&dryRun=true` of a tag
 */
const toOriginForm = (method: string | undefined, target: string): string | undefined => {
  if (target.includes('#')) return undefined;
  if (target.startsWith('/')) return target;
  if (target === '*' && method === 'OPTIONS') return '/';
  const [authority] = ABSOLUTE_FORM.exec(target) ?? [];
  if (authority === undefined || URL.parse(target) === null) return undefined;
  const rest = target.slice(authority.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
};

/**
 * Classes for createServer whose instances have the prototypes that Express gives each request and response. Express
 * would otherwise change them per request, which takes 3 % of the CPU time (record 0034).
 */
export const createMessageClasses = (app: Express) => {
  class Request extends IncomingMessage {}
  class Response extends ServerResponse {}
  Object.setPrototypeOf(Request.prototype, app.request);
  Object.setPrototypeOf(Response.prototype, app.response);
  app.request = Request.prototype as typeof app.request;
  app.response = Response.prototype as typeof app.response;
  return { IncomingMessage: Request, ServerResponse: Response };
};
