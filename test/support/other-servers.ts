import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket, Server as TcpServer } from 'node:net';
import { afterEach } from '@jest/globals';

/** Servers that are no Plant Store, each until the end of its test. */
export const useOtherServers = () => {
  const servers: (Server | TcpServer)[] = [];
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
    // One whose server reads nothing does not learn that its client is gone.
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  /** @returns its URL */
  const listen = async (server: Server | TcpServer) => {
    servers.push(server);
    server.on('connection', (socket: Socket) => sockets.push(socket));
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
