import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { JWK } from 'jose';
import { type IdentityProvider, now, passTime, startIdentityProvider } from '../../support/identity-provider.ts';
import type { TestService } from '../../support/test-service.ts';
import { useTestServices } from '../../support/use-test-service.ts';
import { waitUntil } from '../../support/wait-until.ts';

let provider: IdentityProvider;
let key: Awaited<ReturnType<IdentityProvider['addKey']>>;
let service: TestService;
const start = useTestServices();

beforeEach(async () => {
  provider = await startIdentityProvider();
  key = await provider.addKey('2026-11');
  service = await start(provider.environment);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await provider.stop();
});

let nextId = 1;
const send = (token: string) => {
  const id = nextId++;
  return service.post({ id, name: 'Fir' }, { Authorization: `Bearer ${token}` });
};

describe('the keys of the identity provider', () => {
  test('many tokens with unknown key ids cause one request for the keys', async () => {
    const evil = await provider.addKey('evil', { published: false });
    expect((await send(await key.sign())).status).toBe(200);
    const tokens = await Promise.all(Array.from({ length: 40 }, (_, kid) => evil.sign({}, { kid: `unknown-${kid}` })));
    const responses = await Promise.all(tokens.map(send));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([401]));
    expect(provider.state.requests).toEqual(['/jwks.json']);
    passTime(31_000);
    for (const token of tokens.slice(0, 5)) await send(token);
    expect(provider.state.requests).toHaveLength(2);
  });

  test('a new key is accepted without a restart, 30 seconds after the last request for the keys', async () => {
    expect((await send(await key.sign())).status).toBe(200);
    const rotated = await provider.addKey('2026-12');
    passTime(31_000);
    expect((await send(await rotated.sign())).status).toBe(200);
    expect((await send(await key.sign())).status).toBe(200);
    expect(provider.state.requests).toHaveLength(2);
  });

  test('a key that is too short is skipped, and nothing that it signed is accepted', async () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
    provider.state.keys.unshift({ ...weak, kid: 'weak', alg: 'RS256' } as JWK);
    expect((await send(await key.sign({}, { kid: undefined }))).status).toBe(200);
    const evil = await provider.addKey('evil', { published: false });
    expect((await send(await evil.sign({}, { kid: undefined }))).status).toBe(401);
    expect((await send(await evil.sign({}, { kid: 'weak' }))).status).toBe(401);
    expect(service.log).toContainEqual(expect.objectContaining({ reason: expect.stringContaining('2048 bits') }));
  });

  test.each<[string, Record<string, unknown>]>([
    ['no key id', { kid: undefined }],
    ['the key id of both', { kid: 'same' }],
  ])(
    'while two keys are published, tokens with %s are accepted, of the older and of the newer key',
    async (_title, header) => {
      for (const jwk of provider.state.keys) jwk.kid = 'same';
      expect((await send(await key.sign({}, header))).status).toBe(200);
      const rotated = await provider.addKey('2026-12');
      for (const jwk of provider.state.keys) jwk.kid = 'same';
      const [old, evil] = [key, await provider.addKey('evil', { published: false })];
      passTime(31_000);
      for (const { sign } of [rotated, old]) expect((await send(await sign({}, header))).status).toBe(200);
      for (let attempt = 0; attempt < 3; attempt++) expect((await send(await evil.sign({}, header))).status).toBe(401);
      expect(provider.state.requests).toHaveLength(2);
    },
  );

  test('after a key without an id was added, tokens that it signed are accepted, also while the keys are fetched', async () => {
    const { kid: _kid, ...unnamed } = key.jwk;
    provider.state.keys = [unnamed];
    expect((await send(await key.sign({}, { kid: undefined }))).status).toBe(200);
    const { jwk, sign } = await provider.addKey('2026-12', { published: false });
    const { promise: asked, resolve: ask } = Promise.withResolvers<ServerResponse>();
    provider.state.send = ask;
    passTime(31_000);
    const sent = ['alice', 'bob', 'carol'].map(async (sub) => send(await sign({ sub }, { kid: undefined })));
    const response = await asked;
    // All but one would have been refused by then.
    await Promise.race([Promise.all(sent.slice(1)), setTimeout(300)]);
    response.end(JSON.stringify({ keys: [unnamed, { ...jwk, kid: undefined }] }));
    const responses = await Promise.all(sent);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(provider.state.requests).toHaveLength(2);
  });

  test('while two keys are published, an expired token without a key id is refused because it is expired', async () => {
    await provider.addKey('2026-12');
    expect((await send(await key.sign({ exp: now() - 60 }, { kid: undefined }))).status).toBe(401);
    expect(service.log).toContainEqual(expect.objectContaining({ reason: expect.stringContaining('"exp"') }));
  });

  test('wrong signatures cause a request for the keys at most every 30 seconds', async () => {
    expect((await send(await key.sign())).status).toBe(200);
    const evil = await provider.addKey('evil', { published: false });
    passTime(6000);
    expect((await send(await evil.sign({}, { kid: '2026-11' }))).status).toBe(401);
    expect(provider.state.requests).toHaveLength(1);
    passTime(25_000);
    expect((await send(await evil.sign({}, { kid: '2026-11' }))).status).toBe(401);
    expect(provider.state.requests).toHaveLength(2);
  });

  test('wrong signatures while the provider does not respond: 401, and one line in five seconds says why', async () => {
    const evil = await provider.addKey('evil', { published: false });
    expect((await send(await key.sign())).status).toBe(200);
    provider.state.status = 500;
    passTime(31_000);
    for (let attempt = 0; attempt < 3; attempt++)
      expect((await send(await evil.sign({}, { kid: '2026-11' }))).status).toBe(401);
    expect((await send(await key.sign({ sub: 'bob' }))).status).toBe(200);
    expect(service.log.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  test('a withdrawn key: 401 after five minutes', async () => {
    const withdrawn = await provider.addKey('withdrawn');
    const exp = now() + 3600;
    expect((await send(await withdrawn.sign({ exp }))).status).toBe(200);
    provider.state.keys.pop();
    passTime(301_000);
    expect((await send(await withdrawn.sign({ exp, sub: 'bob' }))).status).toBe(200);
    await waitUntil(
      'the refusal',
      async () => (await send(await withdrawn.sign({ exp, sub: 'carol' }))).status === 401,
    );
    expect(provider.state.requests).toHaveLength(2);
  });

  test('a withdrawn key is refused and a new one accepted, although the clock was set back', async () => {
    const exp = now() + 3600;
    expect((await send(await key.sign({ exp }))).status).toBe(200);
    const added = await provider.addKey('added');
    provider.state.keys.shift();
    passTime(-3_600_000);
    await waitUntil('the refusal', async () => (await send(await key.sign({ exp, sub: 'bob' }))).status === 401);
    expect((await send(await added.sign({ exp }))).status).toBe(200);
  });

  test.each<[string, (provider: IdentityProvider) => void]>([
    ['not listening', (provider) => void provider.stop()],
    ['failing', ({ state }) => Object.assign(state, { status: 500 })],
    ['redirecting', ({ state }) => Object.assign(state, { status: 302 })],
    ['sending invalid keys', ({ state }) => Object.assign(state, { keys: 'none' })],
  ])(
    '%s when they are first needed: 503, code 1503; the tokens that the store creates still work',
    async (_title, spoil) => {
      spoil(provider);
      const { status, body, headers } = await send(await key.sign());
      expect([status, body.error, headers['retry-after']]).toEqual([503, 1503, '1']);
      const line = service.log.find(({ error }) => error === 1503);
      expect(line).toMatchObject({ level: 'error' });
      const { status: sent } = provider.state;
      if (sent !== 200) expect(JSON.stringify(line)).toContain(`is ${sent}, not 200`);
      expect((await send(service.token)).status).toBe(200);
    },
  );

  test.each([
    ['endless', 1_000_000, 1],
    ['endless and slow', 1, 100],
  ])('%s: at most 1 MiB is read, for at most 3 s; then 503, code 1503', async (_title, size, interval) => {
    let sent = 0;
    const closed = new Promise((resolve) => {
      provider.state.send = (response) => {
        const timer = setInterval(() => {
          if (response.write(' '.repeat(size))) sent += size;
        }, interval);
        response.once('close', () => resolve(clearInterval(timer)));
      };
    });
    const { status, body } = await send(await key.sign());
    expect([status, body.error]).toEqual([503, 1503]);
    await closed;
    // What the sockets between the two buffer is sent, but not read.
    expect(sent).toBeLessThan(16_000_000);
    const causes = JSON.stringify(service.log.find(({ error }) => error === 1503));
    expect(causes).toContain(size === 1 ? 'timed out' : 'has more than 1048576 bytes');
  });

  test('failing at first, then the clock is set back: the service tries again', async () => {
    provider.state.status = 500;
    expect((await send(await key.sign())).status).toBe(503);
    provider.state.status = 200;
    const exp = now() + 60;
    passTime(-3_600_000);
    expect((await send(await key.sign({ exp }))).status).toBe(200);
  });

  test('unreachable: one request in five seconds, and a known key works for a day', async () => {
    const later = { exp: now() + 200_000 };
    expect((await send(await key.sign(later))).status).toBe(200);
    provider.state.status = 500;
    passTime(3_600_000);
    for (const sub of ['bob', 'carol', 'dave'])
      expect((await send(await key.sign({ ...later, sub }))).status).toBe(200);
    expect(provider.state.requests).toHaveLength(2);
    const warnings = service.log.filter(({ msg }) => msg === 'could not refresh the keys of the identity provider');
    expect(warnings).toEqual([expect.objectContaining({ level: 'warn' })]);
    passTime(86_400_000);
    expect((await send(await key.sign({ ...later, sub: 'erin' }))).status).toBe(503);
  });
});

test('the log shows no query of AUTH_JWKS_URL, which may contain a key', async () => {
  const { AUTH_JWKS_URL } = provider.environment;
  const other = await start({ ...provider.environment, AUTH_JWKS_URL: `${AUTH_JWKS_URL}?key=secretpart` });
  provider.state.send = (response) => void response.end(' '.repeat(2_000_000));
  const fail = async () => {
    const response = await other.post({ id: 1, name: 'Fir' }, { Authorization: `Bearer ${await key.sign()}` });
    expect([response.status, response.body.error]).toEqual([503, 1503]);
    expect(response.text).not.toContain('secretpart');
  };
  const parts = ['no usable keys at', 'the response of', 'the last request to'].map(
    (part) => `${part} ${AUTH_JWKS_URL}`,
  );
  // Later ones find that the keys were fetched a moment ago. The log has causes once a second.
  await waitUntil('all causes', async () => {
    await fail();
    const log = JSON.stringify(other.log);
    return parts.every((part) => log.includes(part));
  });
  expect(provider.state.requests).toEqual(['/jwks.json?key=secretpart']);
  const log = JSON.stringify(other.log);
  expect(log).not.toContain('secretpart');
});

test('without a configured identity provider, a JWT is 401, code 1101, and no keys are fetched', async () => {
  const plain = await start();
  const before = [...provider.state.requests];
  const token = await key.sign();
  expect((await plain.post({ id: 1, name: 'Fir' }, { Authorization: `Bearer ${token}` })).body.error).toBe(1101);
  expect(provider.state.requests).toEqual(before);
});
