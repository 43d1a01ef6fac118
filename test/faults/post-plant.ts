import { Agent, request } from 'node:http';

/** How long a client waits for a response, in ms: longer than the store may take. */
const PATIENCE = 30_000;

/** The outcome of a request. `status` 0: no response, because the connection was refused or broke, or it timed out. */
export type Answer = { status: number; code: number; message: string; wait: number };

export type PlantClient = { post: (id: number) => Promise<Answer>; close: () => void };

/** A client that keeps its connection open. */
export const createPlantClient = (baseUrl: string, token: string): PlantClient => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { hostname, port } = new URL(baseUrl);
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const target = { agent, hostname, port, path: '/plants', method: 'POST', timeout: PATIENCE };

  const post = (id: number) =>
    new Promise<Answer>((resolve) => {
      const sentAt = performance.now();
      const body = `{"id":${id},"name":"Fir","tag":"Abies"}`;
      const end = (status: number, text: string) =>
        resolve({ status, ...readError(status, text), wait: performance.now() - sentAt });
      const sent = request({ ...target, headers: { ...headers, 'Content-Length': body.length } }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => end(response.statusCode ?? 0, text));
        response.on('error', (error) => end(0, error.message));
      });
      sent.on('timeout', () => sent.destroy(new Error(`no response within ${PATIENCE} ms`)));
      sent.on('error', (error) => end(0, error.message));
      sent.end(body);
    });
  return { post, close: () => agent.destroy() };
};

const readError = (status: number, text: string) => {
  if (status === 200) return { code: 0, message: '' };
  if (status === 0) return { code: 0, message: text };
  const { error, message } = JSON.parse(text) as { error: number; message: string };
  return { code: error, message };
};
