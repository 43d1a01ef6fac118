import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { expect, test } from '@jest/globals';
import { createRefusals } from './client-errors.ts';
import { createConnections } from './connections.ts';

test('data that is not HTTP gets one response, also if the client does not read it and sends more', () => {
  const written: string[] = [];
  const socket = new Duplex({
    read: () => {},
    // As if the buffers of the system were full.
    write: (bytes) => written.push(String(bytes)),
  }) as Socket;
  const connections = createConnections({ requestTimeout: 1000 });
  connections.add(socket);
  const refused: unknown[] = [];
  const { respondToClientError } = createRefusals({ connections, onRefused: (error) => refused.push(error) });
  for (let times = 0; times < 2; times++) respondToClientError(new Error('Parse Error'), socket);
  expect(written).toEqual([expect.stringMatching(/^HTTP\/1\.1 400 /)]);
  expect(refused).toHaveLength(1);
  socket.destroy();
});
