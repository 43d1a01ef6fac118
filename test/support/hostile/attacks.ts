import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type Attack, closed, open, repeatedly, requestBytes, type Target } from './attack.ts';

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

/** Sends a request and reads what comes back, on many connections. The store closes them, or `milliseconds` do. */
const sendAndRead =
  (connections: number, bytes: (target: Target) => Buffer, milliseconds = PATIENCE): Attack =>
  (target, signal) =>
    repeatedly(connections, signal, async () => {
      const socket = await open({ port: target.port, signal, reads: true });
      socket?.write(bytes(target));
      if (socket) await closed(socket, milliseconds);
    });

/** The start of an import in chunks, with a chunk of rows. */
const startImport = (token: string, rows: string | Uint8Array, ...headers: string[]) => {
  const type = headers.some((header) => /^content-type/i.test(header)) ? [] : ['Content-Type: application/x-ndjson'];
  const fields = [...type, 'Transfer-Encoding: chunked', ...headers];
  const head = requestBytes(token, '/plants/import?onConflict=skip', { method: 'POST', headers: fields });
  return Buffer.concat([head, asChunk(rows)]);
};

const asChunk = (bytes: string | Uint8Array) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), Buffer.from(bytes as string), Buffer.from('\r\n')]);

const manyRows = gzipSync(Array.from({ length: 300_000 }, (_, i) => `{"id":${2_000_000 + i},"name":"Fir"}\n`).join(''));
const rowInBytes = (row: string) => [...row].map((letter) => `1\r\n${letter}\r\n`).join('');

/** Sends an import in chunks of one byte as fast as possible. */
const importInBytes =
  (type: string, row: string): Attack =>
  ({ port, token }, signal) =>
    repeatedly(4, signal, async () => {
      const socket = await open({ port, signal, reads: true });
      socket?.write(startImport(token, row, `Content-Type: ${type}`));
      const bytes = rowInBytes(row).repeat(1000);
      const send = () => void (socket?.writable && socket.write(bytes, send));
      send();
      if (socket) await closed(socket, PATIENCE);
    });

const oneLetter = 'x'.repeat(800_000);

/** Leaves in the midst of an import whose rows, still compressed, keep the store busy. */
const leaveImport =
  (leave: (socket: Socket) => void): Attack =>
  ({ port, token }, signal) =>
    repeatedly(4, signal, async () => {
      const socket = await open({ port, signal });
      socket?.write(startImport(token, manyRows, 'Content-Encoding: gzip'), () => setTimeout(leave, 200, socket));
      if (socket) await closed(socket, PATIENCE);
    });

/** Attacks by which many connections or bytes once crashed the store or blocked other clients, by name. */
export const floods: Record<string, Attack> = {
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
  'searches without an index': sendAndRead(6, ({ token }) =>
    requestBytes(token, '/plants?q=zq', { headers: ['Connection: close'] }),
  ),
};

/** Attacks by which few requests once held up others, by name. */
export const holdUps: Record<string, Attack> = {
  'searches of long names for something nearly there': sendAndRead(8, ({ token }) =>
    requestBytes(token, `/plants?q=${'x'.repeat(99)}y`, { headers: ['Connection: close'] }),
  ),
  'writes of a plant that another transaction has locked': sendAndRead(64, ({ token, lockedId }) =>
    Math.random() < 0.5
      ? post(token, `{"id":${lockedId},"name":"Fir"}`, 'Connection: close')
      : requestBytes(token, `/plants/${lockedId}`, {
          method: 'PUT',
          headers: ['Connection: close'],
          body: '{"name":"Fir"}',
        }),
  ),
  'imports whose clients reset the connection': leaveImport((socket) => socket.resetAndDestroy()),
  'imports whose clients end their side': leaveImport((socket) => socket.end()),
  'imports of blank lines': ({ port, token }, signal) =>
    repeatedly(20, signal, async () => {
      const socket = await open({ port, signal, reads: true });
      socket?.write(startImport(token, '\n'));
      const timer = setInterval(() => socket?.write(asChunk('\n')), 100);
      if (socket) await closed(socket, PATIENCE);
      clearInterval(timer);
    }),
  'imports in chunks of one byte': importInBytes('application/x-ndjson', '{"id":3000000,"name":"Fir"}\n'),
  'imports of a header row without an end, in chunks of one byte': importInBytes('text/csv', 'x'),
  'exports that are never read': sendAndNeverRead(20, (token) => requestBytes(token, '/plants/export')),
  'names of 800 KB': sendAndRead(8, ({ token }) =>
    post(token, `{"id":${5_000_000 + Math.floor(Math.random() * 20)},"name":"${oneLetter}"}`, 'Connection: close'),
  ),
  'writers with If-Match: * of one plant': sendAndRead(40, ({ token }) =>
    requestBytes(token, '/plants/1000', {
      method: 'PUT',
      headers: ['If-Match: *', 'Connection: close'],
      body: `{"name":"Fir ${Math.random()}"}`,
    }),
  ),
  'bodies in gzip, chunked': sendAndRead(20, ({ token }) =>
    post(token, compressedText, 'Transfer-Encoding: gzip, chunked', 'Connection: close'),
  ),
  'complete requests on connections that the client has ended': ({ port, token }, signal) =>
    repeatedly(64, signal, async () => {
      const socket = await open({ port, signal });
      socket?.end(post(token, `{"id":${Math.ceil(Math.random() * 1e6) + 1e7},"name":"Fir"}`));
      if (socket) await closed(socket, 1000);
    }),
};
