import type { ServerResponse } from 'node:http';

export type OutputBudget = {
  /** Counts the bytes of a response that wait to be sent, until it is sent or its connection is closed. */
  hold: (response: ServerResponse, bytes: number) => void;
};

/**
 * Bounds the bytes of all responses that wait for clients to read them. When they exceed `limit`, the responses that have
 * waited longest are cut off: a client that reads is done long before.
 */
export const createOutputBudget = ({ limit }: { limit: number }): OutputBudget => {
  const waiting = new Map<ServerResponse, number>();
  let total = 0;

  const release = (response: ServerResponse) => {
    total -= waiting.get(response) ?? 0;
    waiting.delete(response);
  };

  return {
    hold: (response, bytes) => {
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
