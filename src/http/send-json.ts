import type { ServerResponse } from 'node:http';
import type { Response } from 'express';
import type { Hold } from './byte-budget.ts';

/** Larger texts, in characters, are sent as bytes: Node.js would keep a copy of each. */
const LARGE = 16_384;
export const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends a small JSON body. `response.json` would cost 4 µs more per request for settings, media type, ETag and freshness. */
export const sendJson = (response: ServerResponse, body: object): void => {
  response.setHeader('Content-Type', JSON_TYPE);
  response.end(JSON.stringify(body));
};

/** Sends a body of any size that is already JSON. */
export const sendJsonText = (response: Response, json: string, hold: Hold): void =>
  sendText(response, JSON_TYPE, json, hold);

/** Sends a body of any size. What the client's system does not take at once is held, and the connection closed if it is dropped. */
export const sendText = (response: Response, type: string, text: string, hold: Hold): void => {
  response.setHeader('Content-Type', type);
  if (text.length < LARGE) response.end(text);
  else sendBytes(response, Buffer.from(text));
  const bytes = response.socket?.writableLength ?? 0;
  if (bytes > 0) hold(response, { kind: 'responses', bytes, drop: () => response.destroy() });
};

export const sendBytes = (response: ServerResponse, bytes: Buffer): void => {
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
};
