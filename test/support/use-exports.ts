import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { SCOPES } from '../../src/tokens/token.ts';
import type { TestService } from './test-service.ts';
import { useTestService, useTestServices } from './use-test-service.ts';
import { waitUntil } from './wait-until.ts';

export const { exports: EXPORTS } = limitRequests(readConfig({}));
export const QUICK = { exports: { ...EXPORTS, clientCheckInterval: 100 } };
export const LAST_CHUNK = '\r\n0\r\n\r\n';
/** Of 10 kB each: more than all buffers between PostgreSQL and a client that reads nothing hold. */
export const MANY = 5000;

/** Exports of the tests of a file, from an empty table. They share a service, unless a test calls `start`. */
export const useExports = () => {
  const shared = useTestService({ METRICS_PORT: '0' }, { requestLimits: QUICK });
  const startService = useTestServices();
  const sockets: Socket[] = [];
  let others = 0;
  let service: TestService;
  /** An export is in progress until its transaction has ended, a moment after its response. There may be two at a time. */
  const earlierExportsEnd = () =>
    waitUntil('the end of earlier exports', async () => {
      const { value } = await service.metrics();
      return value('plant_store_exports_in_progress') === 0;
    });
  beforeEach(async () => {
    service = shared;
    await earlierExportsEnd();
    await service.database.query('TRUNCATE plants');
    service.log.splice(0);
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  const insert = (sql: string) => service.database.query(`INSERT INTO plants (id, name, tag) ${sql}`);
  const exportAs = (query = '') =>
    service
      .request('get', `/plants/export${query}`)
      .buffer(true)
      .parse(asText as never);

  return {
    get service() {
      return service;
    },

    start: async (...parameters: Parameters<typeof startService>) => {
      service = await startService(...parameters);
    },

    insert,

    /** More data than the buffers of a connection hold. */
    insertMany: (count = MANY) => insert(`SELECT id, repeat('x', 10000), NULL FROM generate_series(1, ${count}) AS id`),

    exportAs,

    textOf: async (query = ''): Promise<string> => {
      await earlierExportsEnd();
      const { status, body } = await exportAs(query);
      expect(status).toBe(200);
      return body;
    },

    /** How many statements read plants; a request may also be looking up its token. */
    transactions: async () =>
      (
        await service.database.query(
          `SELECT pid FROM pg_stat_activity
           WHERE datname = current_database() AND backend_xmin IS NOT NULL AND query LIKE '%FROM plants %' AND pid <> pg_backend_pid()`,
        )
      ).length,

    lastLine: () => service.log.findLast(({ path }) => path === '/plants/export'),

    /** Requests an export on a separate connection, without reading the response. */
    openExport: async (query = '', token = service.token): Promise<Socket> => {
      const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
      sockets.push(socket);
      await once(socket, 'connect');
      socket.on('error', () => {});
      socket.pause();
      socket.write(
        `GET /plants/export${query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      );
      return socket;
    },

    /** A token may have half of the slots. */
    otherToken: () => service.tokens.create({ name: `other ${others++}`, scopes: SCOPES, expiresAt: null }),
  };
};

const asText = (response: NodeJS.ReadableStream, done: (error: Error | null, text: string) => void) => {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('end', () => done(null, Buffer.concat(chunks).toString()));
};

export const readToEnd = async (socket: Socket): Promise<string> => {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.resume();
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
};
