import type { ServerResponse } from 'node:http';
import type { OutputBudget } from './output-budget.ts';

/** From this size on, in bytes, a body is counted while it waits for its client, and sent in pieces. */
const LARGE_BODY = 16_384;
/** The size of a piece, in bytes. */
const PIECE = 16_384;

/**
 * Answers with a body. What `response.json` does besides (settings for JSON, a media type parsed and put together again,
 * ETag and freshness) costs 4 µs a request, and nothing of it is used here.
 */
export const sendJson = (response: ServerResponse, body: object): void => {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(JSON.stringify(body));
};

/** Answers with a body that is JSON already, of any size. */
export const sendJsonText = (response: ServerResponse, json: string, budget: OutputBudget): void => {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  if (json.length < LARGE_BODY) {
    response.end(json);
    return;
  }
  const bytes = Buffer.from(json);
  budget.hold(response, bytes.length);
  sendBytes(response, bytes);
};

/** Sends a body in pieces, each when the client has taken the one before: so it shows whether a client reads at all. */
export const sendBytes = (response: ServerResponse, bytes: Buffer): void => {
  response.setHeader('Content-Length', bytes.length);
  sendFrom(response, bytes, 0);
};

const sendFrom = (response: ServerResponse, bytes: Buffer, start: number) => {
  for (let position = start; position < bytes.length; position += PIECE) {
    if (!response.write(bytes.subarray(position, position + PIECE))) {
      response.once('drain', () => sendFrom(response, bytes, position + PIECE));
      return;
    }
  }
  response.end();
};
