import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { StoreError } from '../errors.ts';
import { toErrorResponse } from '../http/error-response.ts';
import { sendJson } from '../http/send-json.ts';
import { createHttpServer } from '../server/http-server.ts';

/** The longest time that a client may take to send a request, in ms. */
const REQUEST_TIMEOUT = 10_000;
/** The other port has a bound of its own, so neither can take the files of the other. */
const MAX_METRICS_CONNECTIONS = 64;
/** https://prometheus.io/docs/instrumenting/exposition_formats */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type MetricsServerOptions = NonNullable<Config['metrics']> & {
  read: () => Promise<string>;
  /** @throws {StoreError} why the service cannot handle requests */
  assertReady: () => Promise<void>;
  logger: Logger;
};

/**
 * Serves `GET /metrics` on a separate port, as metrics are not for the store's clients; and the health checks, which clients that
 * take all connections of the other port then cannot hold up.
 */
export const createMetricsServer = ({ host, port, read, assertReady, logger }: MetricsServerOptions) => {
  const responders = new Map<string, (response: ServerResponse) => unknown>([
    ['/metrics', async (response) => response.setHeader('Content-Type', CONTENT_TYPE).end(await read())],
    ['/livez', (response) => sendJson(response, { status: 'live' })],
    ['/readyz', (response) => assertReady().then(() => sendJson(response, { status: 'ready' }), refuse(response))],
  ]);
  const server = createHttpServer({
    handler: async ({ method = '', url = '' }: IncomingMessage, response) => {
      const respond = responders.get(url.split('?', 1)[0] ?? '');
      try {
        if (respond && ['GET', 'HEAD'].includes(method)) await respond(response);
        else response.writeHead(404).end();
      } catch (error) {
        // Its body was not valid HTTP, and it was refused meanwhile.
        if (response.headersSent) return;
        logger.error({ err: error }, 'a response on the port of the metrics failed');
        response.writeHead(500).end();
      }
    },
    requestTimeout: REQUEST_TIMEOUT,
    maxConnections: MAX_METRICS_CONNECTIONS,
    addressVariables: 'METRICS_PORT or METRICS_HOST',
    logger: logger.child({ server: 'metrics' }),
  });
  return {
    start: async (): Promise<void> => {
      logger.info({ host, port: await server.listen(host, port) }, 'metrics are served');
    },
    /** Closes all connections at once. */
    stop: () => server.close({ delay: 0, timeout: 0 }),
  };
};

const refuse = (response: ServerResponse) => (error: StoreError) => {
  const { status, headers, body } = toErrorResponse(error);
  response.statusCode = status;
  response.setHeaders(new Map(Object.entries(headers)));
  sendJson(response, body);
};
