import { gzipSync } from 'node:zlib';
import { type Attack, closed, open, repeatedly, requestBytes } from './attack.ts';

/** How long to keep a connection that the store does not close, in ms. */
const PATIENCE = 30_000;
const MIB = 1_048_576;

const pipelined = (request: Buffer, count: number) => Buffer.concat(Array(count).fill(request));

/** Sends bytes on many connections at once and reads no responses. */
const sendAndNeverRead =
  (connections: number, bytes: (token: string, largeId: number) => Buffer): Attack =>
  ({ port, token, largeId }, signal) =>
    repeatedly(connections, signal, async () => {
      const socket = await open({ port, signal });
      socket?.write(bytes(token, largeId));
      if (socket) await closed(socket, PATIENCE);
    });

const post = (token: string, body: string | Uint8Array, ...headers: string[]) =>
  requestBytes(token, '/plants', { method: 'POST', headers, body });

const largeText = `{"id":1,"name":"${'x'.repeat(MIB - 1000)}`;
const wideBody = gzipSync(`{"a":[${'{},'.repeat(349_000)}{}]}`);
const deepBody = gzipSync('['.repeat(520_000));
const compressedText = gzipSync(`${largeText}"}`);
const tinyPieces = '1\r\nx\r\n'.repeat(200_000);

/** Attacks that once crashed the store or blocked other clients, by name. */
export const attacks: Record<string, Attack> = {
  'pipelined reads of a large plant, never read': sendAndNeverRead(14, (token, largeId) =>
    pipelined(requestBytes(token, `/plants/${largeId}`), 300),
  ),
  'large pages, never read': sendAndNeverRead(400, (token, largeId) =>
    requestBytes(token, `/plants?limit=1000&cursor=${Buffer.from(String(largeId)).toString('base64url')}`),
  ),
  'pipelined documents without a token, never read': sendAndNeverRead(50, () =>
    pipelined(Buffer.from('GET /openapi.json HTTP/1.1\r\nHost: store\r\n\r\n'), 60),
  ),
  'thousands of requests in one packet': sendAndNeverRead(30, () =>
    pipelined(Buffer.from('GET / HTTP/1.1\r\n\r\n'), 3600),
  ),
  'compressed bodies with many values on connections that stay open': ({ port, token }, signal) =>
    repeatedly(300, signal, async () => {
      const socket = await open({ port, signal, reads: true });
      socket?.write(post(token, wideBody, 'Content-Encoding: gzip'));
      if (socket) await closed(socket, PATIENCE);
    }),
  'deeply nested bodies': ({ port, token }, signal) =>
    repeatedly(20, signal, async () => {
      const socket = await open({ port, signal, reads: true });
      socket?.write(post(token, deepBody, 'Content-Encoding: gzip'));
      if (socket) await closed(socket, 1000);
    }),
  'stalled uploads': sendAndNeverRead(2000, (token) => post(token, largeText, `Content-Length: ${MIB}`)),
  'stalled compressed uploads': sendAndNeverRead(3000, (token) =>
    post(token, compressedText, 'Content-Encoding: gzip', 'Content-Length: 4096'),
  ),
  'uploads in pieces of one byte': sendAndNeverRead(30, (token) =>
    post(token, tinyPieces, 'Transfer-Encoding: chunked'),
  ),
  'searches without an index': ({ port, token }, signal) =>
    repeatedly(6, signal, async () => {
      const socket = await open({ port, signal, reads: true });
      socket?.write(requestBytes(token, '/plants?q=zq', { headers: ['Connection: close'] }));
      if (socket) await closed(socket, PATIENCE);
    }),
};
