import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { readTraces, type SentSpan } from './otlp.ts';

/** Starts an OpenTelemetry collector that accepts spans with OTLP over HTTP, as protobuf. */
export const startCollector = async ({ answers = true } = {}) => {
  const response = { status: 200, body: '' };
  const spans: SentSpan[] = [];
  const requests: { path: string | undefined; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(async (request, answer) => {
    requests.push({ path: request.url, headers: request.headers });
    const body = await buffer(request);
    spans.push(...readTraces(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
    if (answers) answer.writeHead(response.status, { 'Content-Type': 'application/x-protobuf' }).end(response.body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    /** How it responds from now on. */
    response,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
