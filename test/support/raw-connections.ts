import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach } from '@jest/globals';

/** Opens connections to a service on which a test writes bytes itself. They are closed after each test. */
export const useRawConnections = (service: { baseUrl: string }) => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  return async (text = ''): Promise<Socket> => {
    const port = Number(new URL(service.baseUrl).port);
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };
};
