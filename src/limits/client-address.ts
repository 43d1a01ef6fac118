import { isIP, isIPv4 } from 'node:net';
import type { Request } from 'express';

/**
 * Whom a request is counted for that has no good token: its IPv4 address, or the /64 of its IPv6 address, as one
 * client has all of that. Behind proxies that are trusted (TRUST_PROXY) it is the address that they name.
 */
export const clientAddress = ({ ip, socket }: Pick<Request, 'ip' | 'socket'>): string => {
  const address = [ip, socket.remoteAddress].find((text) => text && isIP(text)) ?? 'unknown';
  const ipv4 = /^(?:::ffff:)?([\d.]+)$/i.exec(address)?.[1] ?? '';
  if (isIPv4(ipv4)) return ipv4;
  return address === 'unknown' ? address : `${firstGroups(address)}::/64`;
};

/** The first four groups of an IPv6 address, in the one way in which RFC 5952 writes them. */
const firstGroups = (address: string): string => {
  const [withoutZone = ''] = address.split('%');
  // The URL parser knows all ways to write one.
  const written = new URL(`http://[${withoutZone}]`).hostname.slice(1, -1);
  const [head = '', tail = ''] = written.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
};
