import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { type Attack, closed, open, requestBytes } from './attack.ts';

/** How many uploads a flood opens in a second. */
const RATE = 200;
/** How many may be open. The flood is of bytes: more would only wait to be accepted. */
const MAX_OPEN = 256;
/** How long to keep a connection that the store does not close, in ms. */
const PATIENCE = 5000;
const MIB = 1_048_576;

/** Text that hardly compresses, as nearly 1 MiB of a plant. */
const name = randomBytes((MIB * 3) / 4 - 100).toString('base64');
const end = Buffer.from('"}');

/** Sends a plant with another id each time, which is stored. */
const sendPlant = (socket: Socket, token: string, id: number) => {
  const start = `{"id":${id},"name":"`;
  const headers = [`Content-Length: ${start.length + name.length + end.length}`, 'Connection: close'];
  socket.write(requestBytes(token, '/plants', { method: 'POST', headers, body: start }));
  socket.write(name);
  return end;
};

type Flood = { reads?: boolean; isWhole?: boolean; tokenOf?: (token: string) => string };

/** Opens uploads of 1 MiB at RATE. */
const flood =
  ({ reads = true, isWhole = true, tokenOf = (token) => token }: Flood): Attack =>
  async ({ port, token }, signal) => {
    let [id, inProgress, due] = [10_000_000, 0, performance.now()];
    const upload = async () => {
      const socket = await open({ port, signal, reads });
      if (!socket) return;
      const rest = sendPlant(socket, tokenOf(token), id++);
      if (isWhole) socket.write(rest);
      await closed(socket, PATIENCE);
    };
    for (; !signal.aborted; await setTimeout(5))
      for (; due < performance.now(); due += 1000 / RATE)
        if (inProgress < MAX_OPEN) {
          inProgress++;
          void upload().finally(() => inProgress--);
        }
  };

/** Attacks that send large bodies as fast as they can, by name. */
export const uploadFloods: Record<string, Attack> = {
  'uploads of plants': flood({}),
  'uploads that stall at their last byte': flood({ isWhole: false }),
  'uploads whose responses are never read': flood({ reads: false }),
  'uploads with a wrong token': flood({ tokenOf: () => 'wrong' }),
};
