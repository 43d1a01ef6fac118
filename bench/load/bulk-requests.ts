/** Requests that carry many plants. */
import { createReadStream } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type PlantFiles, readBatches } from '../plants/plant-files.ts';
import { BenchError } from '../processes/bench-error.ts';
import { type Counted, countLines } from './count-lines.ts';
import type { Address } from './load.ts';

/** Enough to keep a server busy that stores each batch before it answers. */
const BATCHES_AT_A_TIME = 4;

type ToServer = { address: Address; signal: AbortSignal };

/** Sends the NDJSON file to `POST /plants/import`. @throws {BenchError} unless every row is stored */
export const importFile = async ({ rows, ndjson }: PlantFiles, server: ToServer): Promise<void> => {
  const { sent, response } = open('POST', '/plants/import', { 'Content-Type': 'application/x-ndjson' }, server);
  // An early answer ends the upload: the answer then says why.
  const uploaded = pipeline(createReadStream(ndjson), sent).catch(() => {});
  const body = await readOk(await response);
  await uploaded;
  const { created, failed } = JSON.parse(body);
  if (created !== rows || failed !== 0)
    throw new BenchError(`imported ${created} of ${rows} rows: ${body.slice(0, 200)}`);
};

/** Sends the plants in batches to `POST /plants/batch` of a peer. @throws {BenchError} unless every row is stored */
export const sendBatches = async (files: PlantFiles, server: ToServer): Promise<void> => {
  const agent = new Agent({ keepAlive: true });
  // One generator for all workers: each takes the next batch.
  const remaining = readBatches(files);
  const sendRemaining = async () => {
    for await (const batch of remaining) {
      const { sent, response } = open('POST', '/plants/batch', { 'Content-Type': 'application/json' }, server, agent);
      sent.end(batch);
      await readOk(await response);
    }
  };
  try {
    await Promise.all(Array.from({ length: BATCHES_AT_A_TIME }, sendRemaining));
  } finally {
    agent.destroy();
  }
};

/** Reads `GET /plants/export`. @throws {BenchError} at an answer other than 200 */
export const readExport = async (server: ToServer): Promise<Counted> => {
  const { sent, response } = open('GET', '/plants/export', {}, server);
  sent.end();
  const answer = await response;
  if (answer.statusCode !== 200) await readOk(answer);
  return countLines(answer);
};

const open = (
  method: string,
  path: string,
  headers: Record<string, string>,
  { address: { url, token }, signal }: ToServer,
  agent?: Agent,
) => {
  const sent = request(new URL(path, url), {
    method,
    headers: { ...headers, Authorization: `Bearer ${token}` },
    agent: agent ?? false,
    signal,
  });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.on('response', resolve).on('error', reject);
  return { sent, response: promise };
};

const readOk = async (response: IncomingMessage): Promise<string> => {
  const body = await text(response);
  if (response.statusCode !== 200) throw new BenchError(`answered ${response.statusCode}: ${body.slice(0, 200)}`);
  return body;
};
