import { expect, test } from '@jest/globals';
import { parseEncoding, parseExpiry, parseScopes } from './option-parsers.ts';

test('a token expires after a duration with a unit', () => {
  const before = Date.now();
  const expiry = parseExpiry('12h').getTime() - 43_200_000;
  expect(expiry).toBeGreaterThanOrEqual(before);
  expect(expiry).toBeLessThanOrEqual(Date.now());
});

test.each(['', '30', '0d', '-1d', '30 d', '1y', '99999w'])('%j is no duration for a token', (text) => {
  expect(() => parseExpiry(text)).toThrow('It must be a number with a unit (s, m, h, d, w), such as 45m, 12h or 30d');
});

test.each([
  ['UTF8', 'utf-8'],
  ['latin1', 'windows-1252'],
  ['utf-16', 'utf-16le'],
  ['US-ASCII', 'us-ascii'],
])('%s is a label of the encoding %s', (label, encoding) => expect(parseEncoding(label)).toBe(encoding));

test.each(['', 'utf-7', 'x-unknown'])('%j is no label of an encoding', (label) => {
  expect(() => parseEncoding(label)).toThrow('It must be a label of the Encoding standard');
});

test('scopes add up, separated by commas or in several words', () => {
  expect(parseScopes('plants:read,plants:write')).toEqual(['plants:read', 'plants:write']);
  expect(parseScopes('plants:write', parseScopes('plants:read'))).toEqual(['plants:read', 'plants:write']);
  expect(parseScopes('plants:read', ['plants:read'])).toEqual(['plants:read']);
});

test.each(['', 'plants', 'plants:read,', 'plants:read plants:write'])('%j are no scopes', (text) => {
  expect(() => parseScopes(text)).toThrow('It must be plants:read or plants:write');
});
