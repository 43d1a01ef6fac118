import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A free TCP port of 127.0.0.1. @throws if the port is given and in use */
export const freePort = async (port = 0): Promise<number> => {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return address.port;
};
