import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ApiError } from './api-error.ts';
import { closeAfter, endInStages } from './close-in-stages.ts';
import { DEFAULT_HEADERS } from './default-headers.ts';
import { sendJson } from './send-json.ts';

/** Answers, outside of the app, a request behind which anything may come: its body is broken, or its target no path. */
export const refuseRequest = (response: ServerResponse, error: ApiError): void => {
  if (response.headersSent) {
    if (!response.writableFinished) response.destroy();
    return;
  }
  closeAfter(response);
  response.statusCode = error.status;
  for (const [name, value] of Object.entries({ ...DEFAULT_HEADERS, ...error.headers })) response.setHeader(name, value);
  sendJson(response, error);
};

/** Answers on a connection on which what came is no request. */
export const refuseConnection = (socket: Duplex, error: ApiError): void => {
  const body = JSON.stringify(error);
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...DEFAULT_HEADERS,
    ...error.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  endInStages(socket, `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`);
};
