import { expect, test } from '@jest/globals';
import { tokenState } from './token.ts';

const at = (milliseconds: number) => new Date(milliseconds);

test('a token is valid until it expires', () => {
  const token = { revokedAt: null, expiresAt: at(1000) };
  expect([999, 1000, 1001].map((now) => tokenState(token, now))).toEqual(['valid', 'expired', 'expired']);
  expect(tokenState({ revokedAt: null, expiresAt: null }, 1000)).toBe('valid');
});

test('a token whose expiry is no valid time has expired', () => {
  for (const time of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e300])
    expect(tokenState({ revokedAt: null, expiresAt: at(time) }, 1000)).toBe('expired');
});

test('a revoked token is revoked, even if it has expired', () => {
  for (const expiresAt of [null, at(500), at(2000)]) {
    expect(tokenState({ revokedAt: at(1), expiresAt }, 1000)).toBe('revoked');
  }
});
