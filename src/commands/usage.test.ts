import { expect, test } from '@jest/globals';
import { baseUrl } from './usage.ts';

test.each([
  ['127.0.0.1', 'http://127.0.0.1:3000/api'],
  ['plants.example.org', 'http://plants.example.org:3000/api'],
  ['0.0.0.0', 'http://127.0.0.1:3000/api'],
  ['::', 'http://[::1]:3000/api'],
  ['fe80::1', 'http://[fe80::1]:3000/api'],
])('the URL for clients on this machine, if HOST is %s', (host, url) => {
  expect(baseUrl({ host, port: 3000, basePath: '/api' })).toBe(url);
});
