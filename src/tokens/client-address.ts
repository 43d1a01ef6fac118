import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/**
 * The key under which requests without a valid token are counted: the IPv4 address, or the /64 network of the IPv6
 * address, because one client usually has all of it. Behind trusted proxies (TRUST_PROXY), it is the address that they
 * report.
 */
export const clientAddress = ({ ip, socket }: Pick<Request, 'ip' | 'socket'>): string => {
  const text = [ip, socket.remoteAddress].find((address) => address && isIP(address));
  if (text === undefined) return 'unknown';
  // ipaddr.js rejects some zones, such as eth0.100.
  const [withoutZone = ''] = text.split('%');
  const address = ipaddr.process(withoutZone);
  if (address instanceof ipaddr.IPv4) return address.toString();
  const network = address.parts.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
};
