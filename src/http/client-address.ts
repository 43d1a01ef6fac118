import { isIP, type Socket } from 'node:net';
import type { RequestHandler } from 'express';
import ipaddr from 'ipaddr.js';

/** `ip` is missing for what never reached the app. */
type Client = { ip?: string | undefined; socket: Pick<Socket, 'remoteAddress'> };

/** The client's address; behind trusted proxies (TRUST_PROXY), the one that they report. Undefined once it is disconnected. */
export const clientIp = ({ ip, socket }: Client): string | undefined =>
  [ip, socket.remoteAddress].find((address) => address && isIP(address))?.replace(/^::ffff:(?=[\d.]+$)/i, '');

/**
 * The key under which requests without a valid token are counted: the IPv4 address, or the /64 network of the IPv6
 * address, because one client usually has all of it.
 */
export const clientAddress = (client: Client): string => {
  const text = clientIp(client);
  if (text === undefined) return 'unknown';
  // ipaddr.js rejects some zones, such as eth0.100.
  const [withoutZone = ''] = text.split('%');
  const address = ipaddr.process(withoutZone);
  if (address instanceof ipaddr.IPv4) return address.toString();
  const network = address.parts.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
};

/** An IPv6 address in brackets, perhaps with a port, or an IPv4 address with one. */
const WITH_PORT = /\[([^[\]]*)\](?::\d+)?|(\d{1,3}(?:\.\d{1,3}){3}):\d+/g;

/** Removes the ports that some proxies add to the addresses in X-Forwarded-For, which Express would take for parts of them. */
export const removeForwardedPorts: RequestHandler = ({ headers }, _response, next) => {
  const name = 'x-forwarded-for';
  if (typeof headers[name] === 'string') headers[name] = headers[name].replace(WITH_PORT, '$1$2');
  next();
};
