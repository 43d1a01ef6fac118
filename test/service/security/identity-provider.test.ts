import { createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { exportSPKI, type JWTPayload } from 'jose';
import { type IdentityProvider, now, passTime, startIdentityProvider } from '../../support/identity-provider.ts';
import { startTestService, type TestService } from '../../support/test-service.ts';
import { waitUntil } from '../../support/wait-until.ts';

let provider: IdentityProvider;
let key: Awaited<ReturnType<IdentityProvider['addKey']>>;
let service: TestService;

/** Published once each: two keys with one id would match the same token. */
const keysByAlgorithm = new Map<string, typeof key>();
const ALGORITHMS = ['RS512', 'PS256', 'ES256', 'ES384', 'EdDSA'];
let shared: { provider: IdentityProvider; key: typeof key; service: TestService };
beforeAll(async () => {
  const provider = await startIdentityProvider();
  for (const alg of ALGORITHMS) keysByAlgorithm.set(alg, await provider.addKey(alg, { alg }));
  const key = await provider.addKey('2026-11');
  shared = { provider, key, service: await startTestService({ ...provider.environment, TRUST_PROXY: '1' }) };
});
afterAll(async () => {
  await shared.service.stop();
  await shared.provider.stop();
});
beforeEach(async () => {
  ({ provider, key, service } = shared);
  service.log.splice(0);
  await service.database.query('TRUNCATE plants');
});
afterEach(() => {
  jest.restoreAllMocks();
});

let nextId = 1;
/** Each request comes from an address of its own, since there is a limit on the wrong tokens of an address. */
const send = (token: string) => {
  const id = nextId++;
  return service.post(
    { id, name: 'Fir' },
    { Authorization: `Bearer ${token}`, 'X-Forwarded-For': `192.0.2.${id % 256}` },
  );
};

const expectRefused = async (token: string) => {
  const { status, body, headers } = await send(token);
  expect([status, body]).toEqual([401, { error: 1101, message: 'The token is wrong, expired or revoked.' }]);
  expect(headers['www-authenticate']).toBe('Bearer realm="plants", error="invalid_token"');
  expect(await service.database.query('SELECT id FROM plants')).toEqual([]);
};

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const decode = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString());

describe('a token signed by the identity provider is accepted', () => {
  test('to store a plant; the log shows its subject', async () => {
    const token = await key.sign();
    expect((await send(token)).status).toBe(200);
    expect(await service.database.query('SELECT name FROM plants')).toEqual([{ name: 'Fir' }]);
    expect(service.log).toContainEqual(expect.objectContaining({ token: 'jwt:alice', status: 200 }));
    expect(JSON.stringify(service.log)).not.toContain(token.split('.')[2]);
  });

  test.each(ALGORITHMS)('signed with %s', async (alg) => {
    const token = await keysByAlgorithm.get(alg)?.sign();
    expect((await send(token ?? '')).status).toBe(200);
  });

  test('with several audiences, one of them the store', async () => {
    const aud = ['https://other.example.com', provider.environment.AUTH_AUDIENCE];
    expect((await send(await key.sign({ aud }))).status).toBe(200);
  });

  test('a token that is said never to expire is accepted', async () => {
    expect((await send(await key.sign({ exp: 9_999_999_999_999 }))).status).toBe(200);
  });

  test('in addition to the tokens that the store creates', async () => {
    expect((await send(service.token)).status).toBe(200);
  });

  test('with a long or unusual subject; the log shows its hash', async () => {
    for (const sub of ['x'.repeat(5000), 'a\nb', '{"level":"fatal"}']) {
      expect((await send(await key.sign({ sub }))).status).toBe(200);
    }
    const names = service.log.flatMap(({ token }) => (token ? [token] : []));
    expect(names).toHaveLength(3);
    for (const name of names) expect(name).toMatch(/^jwt:#[\w-]{43}$/);
  });
});

describe('its permissions are in `scope`, `scp`, `permissions` or `roles`', () => {
  test.each([
    ['no scope', undefined],
    ['an empty one', ''],
    ['only reading', 'plants:read'],
    ['part of the word', 'plants:writer xplants:write'],
    ['an array with other ones', ['plants:read', { scope: 'plants:write' }, 7]],
    ['an object', { 'plants:write': true }],
    ['different case', 'PLANTS:WRITE'],
  ])('%s: 403, code 1102', async (_title, scope) => {
    const { status, body } = await send(await key.sign({ scope }));
    expect([status, body.error]).toEqual([403, 1102]);
  });

  test('among other scopes: 200', async () => {
    expect((await send(await key.sign({ scope: 'openid plants:write email' }))).status).toBe(200);
  });

  test.each<[string, Record<string, unknown>]>([
    ['`scope` is an array', { scope: ['openid', 'plants:write'] }],
    ['`scp` is a string, as of Microsoft Entra', { scope: undefined, scp: 'openid plants:write' }],
    ['`scp` is an array, as of Okta', { scope: undefined, scp: ['plants:write'] }],
    ['`permissions` is an array, as of Auth0', { scope: 'openid', permissions: ['plants:write'] }],
    ['`roles` is an array, as of Microsoft Entra for programs', { scope: undefined, roles: ['plants:write'] }],
    ['they are in `scp` beside another `scope`', { scope: 'openid', scp: ['plants:write'] }],
  ])('%s: 200', async (_title, claims) => {
    expect((await send(await key.sign(claims))).status).toBe(200);
  });
});

describe('the log says why a token was refused', () => {
  test.each<[string, () => Promise<string>, RegExp]>([
    ['issuer', () => key.sign({ iss: 'https://evil.example' }), /"iss".*: "https:\/\/evil\.example"$/],
    ['audience', () => key.sign({ aud: ['a', 'b'] }), /"aud".*: \["a","b"\]$/],
    ['expiry', () => key.sign({ exp: 1_700_000_000 }), /"exp".*: 1700000000$/],
    ['subject', () => key.sign({ sub: 7 }), /"sub".*: 7$/],
    ['a claim that is missing', () => key.sign({ exp: undefined }), /"exp" claim$/],
    ['signature', async () => (await key.sign()).replace(/.{9}$/, 'AAAAAAAAA'), /^signature verification failed$/],
    ['no such key', () => key.sign({}, { kid: 'unknown' }), /^no applicable key/],
    ['an encrypted token', async () => 'eyJlbmMiOiJBMTI4R0NNIn0.secret1.secret2.secret3.secret4', /has three parts$/],
    ['no signature', async () => (await key.sign()).replace(/[^.]+$/, ''), /has three parts$/],
    [
      'an unknown extension, which anybody can name',
      async () => {
        const [header, payload, signature] = (await key.sign()).split('.');
        return `${base64({ ...decode(header), crit: ['SOMETHING'], SOMETHING: 1 })}.${payload}.${signature}`;
      },
      /^the header of the token, or the key for it, is not supported$/,
    ],
  ])('%s', async (_title, sign, reason) => {
    const token = await sign();
    expect((await send(token)).status).toBe(401);
    expect(service.log).toContainEqual(
      expect.objectContaining({
        level: 'info',
        msg: 'a token of the identity provider was refused',
        reason: expect.stringMatching(reason),
      }),
    );
    const log = JSON.stringify(service.log);
    for (const part of token.split('.').filter(Boolean)) expect(log).not.toContain(part);
  });

  test('also if it has no scope, with the claims that could have one', async () => {
    expect((await send(await key.sign({ scope: 'store/plants:write' }))).status).toBe(403);
    expect(service.log).toContainEqual(expect.objectContaining({ claims: '{"scope":"store/plants:write"}' }));
  });

  test('and whose it is, if its signature is right', async () => {
    await send(await key.sign({ iss: 'https://evil.example' }));
    await send((await key.sign({ sub: 'eve' })).replace(/.{9}$/, 'AAAAAAAAA'));
    const lines = service.log.filter(({ msg }) => msg === 'a token of the identity provider was refused');
    expect(lines.map(({ token }) => token)).toEqual(['jwt:alice', undefined]);
  });
});

test('the line of a request names its token, if that has expired', async () => {
  expect((await send(await key.sign({ exp: now() - 10 }))).status).toBe(401);
  expect(service.log).toContainEqual(expect.objectContaining({ status: 401, token: 'jwt:alice' }));
  service.log.splice(0);
  expect((await send(await key.sign({ exp: now() - 10, iss: 'https://evil.example' }))).status).toBe(401);
  expect(service.log.find(({ status }) => status === 401)).not.toHaveProperty('token');
});

describe('a token with invalid claims: 401, code 1101', () => {
  test.each<[string, () => { [Claim in keyof JWTPayload]: unknown }]>([
    ['expired', () => ({ exp: now() - 10 })],
    ['without expiry', () => ({ exp: undefined })],
    ['not valid yet', () => ({ nbf: now() + 30 })],
    ['for another audience', () => ({ aud: 'https://other.example.com' })],
    ['for an audience that starts with the right one', () => ({ aud: 'https://plants.example.com/' })],
    ['for no audience', () => ({ aud: undefined })],
    ['from another issuer', () => ({ iss: 'https://evil.example.com/' })],
    ['from the issuer without its slash', () => ({ iss: 'https://login.example.com' })],
    ['from no issuer', () => ({ iss: undefined })],
    ['without subject', () => ({ sub: undefined })],
    ['with a subject that is not a string', () => ({ sub: { name: 'alice' } })],
  ])('%s', async (_title, claims) => {
    await expectRefused(await key.sign(claims()));
  });

  test('that expired after it was first accepted', async () => {
    const exp = now() - 3;
    // Clocks may differ by 5 seconds.
    const end = (exp + 5) * 1000;
    const token = await key.sign({ exp });
    expect((await send(token)).status).toBe(200);
    let acceptedAt = 0;
    await waitUntil('the refusal', async () => {
      const sentAt = Date.now();
      const isAccepted = (await send(token)).status === 200;
      if (isAccepted) acceptedAt = sentAt;
      return !isAccepted;
    });
    expect(acceptedAt).toBeLessThan(end);
    await service.database.query('DELETE FROM plants');
    await expectRefused(token);
  });

  test('that expired after it was first accepted, because the clock was set', async () => {
    const token = await key.sign({ exp: now() + 60 });
    expect((await send(token)).status).toBe(200);
    await service.database.query('DELETE FROM plants');
    passTime(66_000);
    await expectRefused(token);
  });
});

describe('a token without a valid signature: 401, code 1101', () => {
  test('with a changed payload, header or signature, or without a part', async () => {
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

  test('HS256 with the public key as the secret: as PEM, with and without the final newline, and as JWK', async () => {
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

  test('signed with an unknown key under the id of a known one', async () => {
    const evil = await provider.addKey('2026-11', { published: false });
    await expectRefused(await evil.sign());
  });

  test('a key or its URL in the header', async () => {
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

  test('an unknown critical extension', async () => {
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
  ])('the key id %j, which is not looked up anywhere', async (kid) => {
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
  ])('not a JWT: %s', async (_title, token) => {
    await expectRefused(token);
  });
});
