import type { ServerResponse } from 'node:http';

/** The size of a piece, in bytes. Bodies of at least this size count towards the output budget. */
const PIECE = 16_384;

/** Sends a JSON body. `response.json` would cost 4 µs more per request for settings, media type, ETag and freshness. */
export const sendJson = (response: ServerResponse, body: object): void => {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(JSON.stringify(body));
};

/** Sends a body of any size that is already JSON. */
export const sendJsonText = (response: ServerResponse, json: string, budget: OutputBudget): void => {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  if (json.length < PIECE) {
    response.end(json);
    return;
  }
  const bytes = Buffer.from(json);
  budget.hold(response, bytes.length);
  sendBytes(response, bytes);
};

/**
 * Sends a body in pieces, each after the client has accepted the previous one. That shows whether the client is
 * reading.
 */
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

/**
 * Limits the bytes of all responses that wait for clients to read them. Past `limit`, the oldest responses are
 * destroyed: a client that reads would have finished long before.
 */
export const createOutputBudget = ({ limit }: { limit: number }) => {
  const waiting = new Map<ServerResponse, number>();
  let total = 0;

  const release = (response: ServerResponse) => {
    total -= waiting.get(response) ?? 0;
    waiting.delete(response);
  };

  return {
    /** Counts the bytes of a response until it is sent or its connection closes. */
    hold: (response: ServerResponse, bytes: number): void => {
      // The client disconnected during the request: no other `close` would follow.
      if (response.destroyed) return;
      for (const oldest of waiting.keys()) {
        if (total + bytes <= limit) break;
        release(oldest);
        oldest.destroy();
      }
      waiting.set(response, bytes);
      total += bytes;
      response.once('close', () => release(response));
    },
  };
};

export type OutputBudget = ReturnType<typeof createOutputBudget>;
