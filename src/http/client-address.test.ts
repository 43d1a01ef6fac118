import type { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { clientAddress, removeForwardedPorts } from './client-address.ts';

const socket = { remoteAddress: '192.0.2.1' } as Socket;

test.each([
  ['198.51.100.7', '198.51.100.7'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:0001:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::5', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['fe80::1%eth0.100', 'fe80:0:0:0::/64'],
  ['fe80::1%br-lan', 'fe80:0:0:0::/64'],
  ['2001:db8:1:2:3:4:5::', '2001:db8:1:2::/64'],
  ['64:ff9b::198.51.100.7', '64:ff9b:0:0::/64'],
  ['::ffff:0:198.51.100.7', '0:0:0:0::/64'],
  ['::ffff:1:2%a.b', '0.1.0.2'],
])('%s is counted as %s', (ip, expected) => {
  expect(clientAddress({ ip, socket })).toBe(expected);
});

test.each(['', 'unknown', '198.51.100.7:4711', "' OR 1=1", 'x'.repeat(9000), undefined])(
  'an invalid address (%.20j) is counted as the address of the connection',
  (ip) => {
    expect(clientAddress({ ip, socket })).toBe('192.0.2.1');
  },
);

test('ports behind forwarded addresses are removed, also the brackets of addresses without', () => {
  const headers = {
    'x-forwarded-for': '[2001:db8::1], 198.51.100.7:80,[2001:db8::2]:443, 203.0.113.9, 2001:db8::3, _hidden',
  };
  removeForwardedPorts({ headers } as never, {} as never, () => {});
  expect(headers['x-forwarded-for']).toBe('2001:db8::1, 198.51.100.7,2001:db8::2, 203.0.113.9, 2001:db8::3, _hidden');
});

test('a closed connection has no address', () => {
  expect(clientAddress({ ip: undefined, socket: {} as Socket })).toBe('unknown');
});
