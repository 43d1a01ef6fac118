import { Agent, request } from 'node:http';
import { firs, type Plants } from './plants.ts';

/** How long a client waits for a response, in ms: longer than the store may take. */
const PATIENCE = 30_000;

/** The outcome of a request. `status` 0: no response, because the connection was refused or broke, or it timed out. */
export type Answer = { status: number; code: number; message: string; wait: number };

export type PlantClient = { post: (number: number) => Promise<Answer>; close: () => void };

type PlantClientOptions = {
  plants?: Plants | undefined;
  /** Whether requests have an Idempotency-Key. */
  keyed?: boolean | undefined;
};

/** A client that keeps its connection open. */
export const createPlantClient = (baseUrl: string, token: string, options: PlantClientOptions = {}): PlantClient => {
  const { plants = firs, keyed = false } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { hostname, port } = new URL(baseUrl);
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const target = { agent, hostname, port, path: '/plants', method: 'POST', timeout: PATIENCE };

  const post = (number: number) =>
    new Promise<Answer>((resolve) => {
      const sentAt = performance.now();
      const body = JSON.stringify(plants.plantOf(number));
      const end = (status: number, text: string) =>
        resolve({ status, ...readError(status, text), wait: performance.now() - sentAt });
      const key = keyed && { 'Idempotency-Key': `plant-${number}` };
      const head = { ...headers, ...key, 'Content-Length': Buffer.byteLength(body) };
      const sent = request({ ...target, headers: head }, (response) => {
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
