import { createHmac } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { exportSPKI, type JWTPayload } from 'jose';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

let provider: IdentityProvider;
let key: Awaited<ReturnType<IdentityProvider['addKey']>>;
let service: TestService;
beforeEach(async () => {
  provider = await startIdentityProvider();
  key = await provider.addKey('2026-11');
  service = await startTestService(provider.environment);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await service.stop();
  await provider.stop();
});

let nextId = 1;
const send = (token: string) => service.post({ id: nextId++, name: 'Fir' }, { Authorization: `Bearer ${token}` });

const expectRefused = async (token: string) => {
  const { status, body, headers } = await send(token);
  expect([status, body]).toEqual([401, { error: 1101, message: 'The token is wrong, expired or revoked.' }]);
  expect(headers['www-authenticate']).toBe('Bearer realm="plants", error="invalid_token"');
  expect(await service.database.query('SELECT id FROM plants')).toEqual([]);
};

const now = () => Math.floor(Date.now() / 1000);
const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const decode = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString());

/** Lets the clock of the keys' age run ahead. */
const passTime = (duration: number) => {
  const start = Date.now();
  jest.spyOn(Date, 'now').mockImplementation(() => start + duration);
};

describe('a token signed by the identity provider → taken', () => {
  test('stores a plant, and is logged by its subject', async () => {
    const token = await key.sign();
    expect((await send(token)).status).toBe(200);
    expect(await service.database.query('SELECT name FROM plants')).toEqual([{ name: 'Fir' }]);
    expect(service.log).toContainEqual(expect.objectContaining({ token: 'jwt:alice', status: 200 }));
    expect(JSON.stringify(service.log)).not.toContain(token.split('.')[2]);
  });

  test.each(['RS512', 'PS256', 'ES256', 'ES384', 'EdDSA'])('signed with %s', async (alg) => {
    const other = await provider.addKey('other', { alg });
    expect((await send(await other.sign())).status).toBe(200);
  });

  test('for several audiences, one of them the store', async () => {
    const aud = ['https://other.example.com', provider.environment.AUTH_AUDIENCE];
    expect((await send(await key.sign({ aud }))).status).toBe(200);
  });

  test('beside the tokens of the store itself', async () => {
    expect((await send(service.token)).status).toBe(200);
  });

  test('with a subject that is long or odd, of which the log shows the hash', async () => {
    for (const sub of ['x'.repeat(5000), 'a\nb', '{"level":"fatal"}']) {
      expect((await send(await key.sign({ sub }))).status).toBe(200);
    }
    const names = service.log.flatMap(({ token }) => (token ? [token] : []));
    expect(names).toHaveLength(3);
    for (const name of names) expect(name).toMatch(/^jwt:#[\w-]{43}$/);
  });
});

describe('what it may do is in `scope`', () => {
  test.each([
    ['nothing', undefined],
    ['an empty one', ''],
    ['reading alone', 'plants:read'],
    ['part of the word', 'plants:writer xplants:write'],
    ['a list instead of a text', ['plants:write']],
    ['another case', 'PLANTS:WRITE'],
  ])('%s → 403, code 1102', async (_title, scope) => {
    const { status, body } = await send(await key.sign({ scope }));
    expect([status, body.error]).toEqual([403, 1102]);
  });

  test('among others → 200', async () => {
    expect((await send(await key.sign({ scope: 'openid plants:write email' }))).status).toBe(200);
  });
});

describe('a token with wrong claims → 401, code 1101', () => {
  test.each<[string, () => { [Claim in keyof JWTPayload]: unknown }]>([
    ['expired', () => ({ exp: now() - 10 })],
    ['without expiry', () => ({ exp: undefined })],
    ['not valid yet', () => ({ nbf: now() + 30 })],
    ['for another audience', () => ({ aud: 'https://other.example.com' })],
    ['for the audience as a prefix', () => ({ aud: 'https://plants.example.com/' })],
    ['for no audience', () => ({ aud: undefined })],
    ['of another issuer', () => ({ iss: 'https://evil.example.com/' })],
    ['of the issuer without its slash', () => ({ iss: 'https://login.example.com' })],
    ['of no issuer', () => ({ iss: undefined })],
    ['without subject', () => ({ sub: undefined })],
    ['with a subject that is no text', () => ({ sub: { name: 'alice' } })],
  ])('%s', async (_title, claims) => {
    await expectRefused(await key.sign(claims()));
  });

  test('expired since it was first taken, to the moment', async () => {
    // Clocks may differ by 5 seconds: this one has one or two left.
    const token = await key.sign({ exp: now() - 3 });
    expect((await send(token)).status).toBe(200);
    await service.database.query('DELETE FROM plants');
    await setTimeout(2100);
    await expectRefused(token);
  });
});

describe('a token without a good signature → 401, code 1101', () => {
  test('altered: the payload, the header, the signature, or none of it', async () => {
    const [header = '', payload = '', signature = ''] = (await key.sign({ scope: 'plants:read' })).split('.');
    const altered = base64({ ...decode(payload), scope: 'plants:write' });
    await expectRefused(`${header}.${altered}.${signature}`);
    await expectRefused(`${base64({ ...decode(header), typ: 'JWT' })}.${payload}.${signature}`);
    await expectRefused(`${header}.${payload}.${signature.slice(0, -4)}AAAA`);
    await expectRefused(`${header}.${payload}.`);
    await expectRefused(`${header}.${payload}`);
    await expectRefused(`${header}.${payload}.${signature}.${signature}`);
  });

  test.each(['none', 'None', 'NONE', 'nOnE'])('alg "%s", with and without a signature', async (alg) => {
    const [, payload, signature] = (await key.sign()).split('.');
    const header = base64({ alg, kid: '2026-11' });
    await expectRefused(`${header}.${payload}.`);
    await expectRefused(`${header}.${payload}.${signature}`);
  });

  test('HS256 with the public key as the secret: as PEM, with and without its last line end, and as JWK', async () => {
    const pem = await exportSPKI(key.publicKey);
    const [, payload] = (await key.sign()).split('.');
    const secrets = [pem, pem.trim(), `${pem.trim()}\n`, JSON.stringify(key.jwk), key.jwk.n ?? ''];
    for (const secret of secrets) {
      for (const alg of ['HS256', 'HS384', 'HS512']) {
        const signed = `${base64({ alg, kid: '2026-11' })}.${payload}`;
        const hash = `sha${alg.slice(2)}`;
        await expectRefused(`${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`);
      }
    }
  });

  test('signed with a key that the provider does not have, under the id of one that it has', async () => {
    const evil = await provider.addKey('2026-11', { published: false });
    await expectRefused(await evil.sign());
  });

  test('a key, or where to get one, in the header', async () => {
    const evil = await provider.addKey('evil', { published: false });
    for (const header of [
      { jwk: evil.jwk },
      { jku: `${provider.url}/evil.json` },
      { x5u: `${provider.url}/evil.pem` },
      { x5c: ['MIIB'] },
      { kid: '2026-11', jwk: evil.jwk, jku: `${provider.url}/evil.json` },
    ]) {
      await expectRefused(await evil.sign({}, header));
    }
    expect(new Set(provider.state.requests)).toEqual(new Set(['/jwks.json']));
  });

  test('an extension that must be understood and is not', async () => {
    const [header, payload, signature] = (await key.sign()).split('.');
    await expectRefused(`${base64({ ...decode(header), crit: ['x'], x: 1 })}.${payload}.${signature}`);
  });

  test.each([
    '../../../../etc/passwd',
    '/dev/null',
    'http://127.0.0.1:1/evil.json',
    'file:///etc/passwd',
    "' OR 1=1 --",
    '__proto__',
    '',
  ])('the key id %j, which is looked up nowhere', async (kid) => {
    const evil = await provider.addKey(kid, { published: false });
    await expectRefused(await evil.sign());
    expect(new Set(provider.state.requests)).toEqual(new Set(['/jwks.json']));
  });

  test.each([
    ['three letters', 'a.b.c'],
    ['dots', '..'],
    ['a long header', `${'x'.repeat(8000)}.e30.e30`],
    ['empty objects', 'e30.e30.e30'],
    ['lists', 'W10.W10.W10'],
    ['nulls', 'bnVsbA.bnVsbA.bnVsbA'],
  ])('no JWT at all: %s', async (_title, token) => {
    await expectRefused(token);
  });
});

describe('the keys of the identity provider', () => {
  test('a flood of tokens with unknown key ids → one look at the keys', async () => {
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

  test('a new key is taken without a restart, 30 seconds after the last look at the keys', async () => {
    expect((await send(await key.sign())).status).toBe(200);
    const rotated = await provider.addKey('2026-12');
    passTime(31_000);
    expect((await send(await rotated.sign())).status).toBe(200);
    expect((await send(await key.sign())).status).toBe(200);
    expect(provider.state.requests).toHaveLength(2);
  });

  test('a withdrawn key → 401 after five minutes', async () => {
    const withdrawn = await provider.addKey('withdrawn');
    const exp = now() + 3600;
    expect((await send(await withdrawn.sign({ exp }))).status).toBe(200);
    provider.state.keys.pop();
    passTime(301_000);
    expect((await send(await withdrawn.sign({ exp, sub: 'bob' }))).status).toBe(200);
    while ((await send(await withdrawn.sign({ exp, sub: 'carol' }))).status !== 401) await setTimeout(10);
    expect(provider.state.requests).toHaveLength(2);
  });

  test.each<[string, (provider: IdentityProvider) => void]>([
    ['not listening', (provider) => void provider.stop()],
    ['failing', ({ state }) => Object.assign(state, { status: 500 })],
    ['redirecting', ({ state }) => Object.assign(state, { status: 302 })],
    ['talking nonsense', ({ state }) => Object.assign(state, { keys: 'none' })],
    ['giving a key that is too short', ({ state }) => Object.assign(state.keys[0] ?? {}, { n: 'AQAB' })],
  ])('%s when they are first needed → 503, code 1503; the tokens of the store itself go on', async (_title, spoil) => {
    spoil(provider);
    const { status, body, headers } = await send(await key.sign());
    expect([status, body.error, headers['retry-after']]).toEqual([503, 1503, '1']);
    expect(service.log).toContainEqual(expect.objectContaining({ level: 'error', error: 1503 }));
    expect((await send(service.token)).status).toBe(200);
  });

  test('failing at first, and the clock is set back → tried again', async () => {
    provider.state.status = 500;
    expect((await send(await key.sign())).status).toBe(503);
    provider.state.status = 200;
    const exp = now() + 60;
    passTime(-3_600_000);
    expect((await send(await key.sign({ exp }))).status).toBe(200);
  });

  test('away, tried once in five seconds → and a known key goes on for a day', async () => {
    const later = { exp: now() + 200_000 };
    expect((await send(await key.sign(later))).status).toBe(200);
    provider.state.status = 500;
    passTime(3_600_000);
    for (const sub of ['bob', 'carol', 'dave'])
      expect((await send(await key.sign({ ...later, sub }))).status).toBe(200);
    expect(provider.state.requests).toHaveLength(2);
    expect(service.log).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'the keys of the identity provider were not refreshed' }),
    );
    passTime(86_400_000);
    expect((await send(await key.sign({ ...later, sub: 'erin' }))).status).toBe(503);
  });
});

test('a JWT where no identity provider is set → 401, code 1101', async () => {
  const plain = await startTestService();
  const token = await key.sign();
  expect((await plain.post({ id: 1, name: 'Fir' }, { Authorization: `Bearer ${token}` })).body.error).toBe(1101);
  expect(provider.state.requests).toEqual([]);
  await plain.stop();
});
