import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { generateTokenText } from '../../../src/tokens/token.ts';
import type { TestService } from '../../support/test-service.ts';
import { useTestServices } from '../../support/use-test-service.ts';

let service: TestService;
const start = useTestServices();
beforeEach(async () => {
  service = await start({ TRUST_PROXY: '1' });
});
afterEach(() => {
  jest.restoreAllMocks();
});

const guess = (from = '192.0.2.1', token = generateTokenText()) =>
  service.agent
    .post('/plants')
    .set({ Authorization: `Bearer ${token}`, 'X-Forwarded-For': from })
    .send('{}');
const guesses = async (count: number, from?: string) => {
  const found: number[] = [];
  for (let turn = 0; turn < count; turn++) found.push((await guess(from)).status);
  return found;
};

test('61 wrong tokens from one address in a minute: 60 times 401, then 429, code 1400', async () => {
  expect(new Set(await guesses(60))).toEqual(new Set([401]));
  const { status, body, headers } = await guess();
  expect([status, body.error]).toEqual([429, 1400]);
  const wait = headers['retry-after'] ?? '';
  expect(Number(wait)).toBeGreaterThan(0);
  expect(Number(wait)).toBeLessThanOrEqual(60);
  expect(body.message).toBe(`Too many wrong tokens came from this address. Try again in ${wait} s.`);
  expect(headers['www-authenticate']).toBe('Bearer realm="plants", error="invalid_token"');
  expect([headers['ratelimit-policy'], headers.ratelimit]).toEqual([
    '"wrong-tokens";q=60;w=60',
    `"wrong-tokens";r=0;t=${wait}`,
  ]);
});

test('after that, the service accepts a valid token from the same address and wrong ones from another get 401', async () => {
  await guesses(61);
  expect((await service.post({ id: 1, name: 'Fir' }, { 'X-Forwarded-For': '192.0.2.1' })).status).toBe(200);
  expect((await service.stored('1'))?.name).toBe('Fir');
  expect((await guess('192.0.2.2')).status).toBe(401);
  const none = await service.agent.post('/plants').set('X-Forwarded-For', '192.0.2.1');
  expect([none.status, none.body.error]).toEqual([401, 1100]);
});

test('a minute later: 401 again', async () => {
  expect((await guesses(61)).at(-1)).toBe(429);
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + 60_001);
  expect((await guess()).status).toBe(401);
});

test('all addresses of an IPv6 /64 count as one', async () => {
  const found: number[] = [];
  for (let turn = 1; turn <= 61; turn++) found.push((await guess(`2001:db8::${turn.toString(16)}`)).status);
  expect(found.filter((status) => status === 429)).toHaveLength(1);
});

test('tokens of every form count: a made-up token, a JWT, a word', async () => {
  await guesses(58);
  for (const token of ['e30.e30.e30', 'word']) expect((await guess(undefined, token)).status).toBe(401);
  expect((await guess(undefined, 'word')).status).toBe(429);
});
