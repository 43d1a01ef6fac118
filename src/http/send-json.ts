import type { ServerResponse } from 'node:http';
import type { Response } from 'express';
import type { Hold } from './byte-budget.ts';

/** Larger texts, in characters, are sent as bytes: Node.js would keep a copy of each. */
const LARGE = 16_384;
const JSON_TYPE = 'application/json; charset=utf-8';

/** Node.js states the length of a text itself, but not over HTTP/1.0 or to HEAD. */
const needsLength = ({ req }: ServerResponse) => req.httpVersion === '1.0' || req.method === 'HEAD';

/** Sends a small JSON body. `response.json` would cost 4 µs more per request for settings, media type, ETag and freshness. */
export const sendJson = (response: ServerResponse, body: object): void => {
  response.setHeader('Content-Type', JSON_TYPE);
  const json = JSON.stringify(body);
  if (needsLength(response)) sendBytes(response, Buffer.from(json));
  else response.end(json);
};

/**
 * Sends a body of any size that is already JSON. What the client's system does not take at once is held, and the connection closed
 * if it is dropped.
 */
export const sendJsonText = (response: Response, json: string, hold: Hold, type = JSON_TYPE): void => {
  response.setHeader('Content-Type', type);
  if (json.length < LARGE && !needsLength(response)) response.end(json);
  else sendBytes(response, Buffer.from(json));
  const bytes = response.socket?.writableLength ?? 0;
  if (bytes > 0) hold(response, { kind: 'responses', bytes, drop: () => response.destroy() });
};

export const sendBytes = (response: ServerResponse, bytes: Buffer): void => {
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
};
