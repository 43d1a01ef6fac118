import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { afterEach } from '@jest/globals';

/** Servers that are no Plant Store, each until the end of its test. */
export const useOtherServers = () => {
  const servers: (Server | TcpServer)[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
    }
  });
  /** @returns its URL */
  const listen = async (server: Server | TcpServer) => {
    servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  return {
    listen,
    /** Starts a server that reads each request, then responds so. */
    respondWith: (status: number, headers: Record<string, string> = {}, body = '') =>
      listen(
        createServer((incoming, response) => {
          incoming.resume().on('end', () => response.writeHead(status, headers).end(body));
        }),
      ),
  };
};
