import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { createHttpServer } from '../server/http-server.ts';

/** The longest time that a client may take to send a request, in ms. */
const REQUEST_TIMEOUT = 10_000;
/** https://prometheus.io/docs/instrumenting/exposition_formats */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type MetricsServerOptions = NonNullable<Config['metrics']> & { read: () => Promise<string>; logger: Logger };

/** Serves `GET /metrics` on a separate port: metrics are not for the store's clients. */
export const createMetricsServer = ({ host, port, read, logger }: MetricsServerOptions) => {
  const server = createHttpServer({
    handler: async ({ method, url }, response) => {
      if (!['GET', 'HEAD'].includes(`${method}`) || url?.split('?', 1)[0] !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      try {
        const text = await read();
        response.writeHead(200, { 'Content-Type': CONTENT_TYPE }).end(text);
      } catch (error) {
        logger.error({ err: error }, 'failed to read metrics');
        response.writeHead(500).end();
      }
    },
    requestTimeout: REQUEST_TIMEOUT,
    addressVariables: 'METRICS_PORT or METRICS_HOST',
  });
  return {
    start: async (): Promise<void> => {
      logger.info({ host, port: await server.listen(host, port) }, 'metrics are served');
    },
    /** Closes all connections at once. */
    stop: () => server.close({ delay: 0, timeout: 0 }),
  };
};
