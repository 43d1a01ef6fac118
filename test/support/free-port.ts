import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A free TCP port of 127.0.0.1, for servers that must use the same port again after a restart. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};
