import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { generateTokenText, hashTokenText, type Scope } from '../../src/tokens/token.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { stopAndCount } from '../support/stop-and-count.ts';
import { useTestService, useTestServices } from '../support/use-test-service.ts';

const noScans = onCitus('shards count the scans of an index');
const service = useTestService();
const start = useTestServices();
afterEach(() => {
  jest.restoreAllMocks();
});

let nextId = 1;
const send = (authorization?: string, body: object | string = { id: nextId++, name: 'Fir' }) => {
  const request = service.agent.post('/plants').set('Content-Type', 'application/json');
  return (authorization === undefined ? request : request.set('Authorization', authorization)).send(body);
};
const makeToken = (name: string, options: { scopes?: Scope[]; expiresAt?: Date } = {}) =>
  service.tokens.create({ name, scopes: options.scopes ?? ['plants:write'], expiresAt: options.expiresAt ?? null });

describe('code 1100: no token', () => {
  test.each([undefined, '', 'Bearer', 'Bearer ', 'Basic cGxhbnQ6eA==', 'plant_x', 'BearerX y'])(
    '%j',
    async (header) => {
      const response = await send(header);
      expect(response.status).toBe(401);
      expect(response.body.error).toBe(1100);
      const hasAnother = response.body.message.endsWith('. The Authorization header has another form.');
      expect(hasAnother).toBe(header !== undefined && header !== '');
      expect(response.headers['www-authenticate']).toBe('Bearer realm="plants"');
    },
  );
});

describe('code 1101: a token that is not valid', () => {
  const expectRefused = async (authorization: string, oddity = '') => {
    const response = await send(authorization);
    expect(response.status).toBe(401);
    expect(response.body).toEqual({ error: 1101, message: `The token is wrong, expired or revoked.${oddity}` });
    expect(response.headers['www-authenticate']).toBe('Bearer realm="plants", error="invalid_token"');
  };

  test('one that was never created', async () => {
    await expectRefused(`Bearer ${generateTokenText()}`);
  });

  test('one with extra or missing characters', async () => {
    const { token } = service;
    const length = ' It is cut off, or has something behind it.';
    for (const text of [`${token}x`, token.slice(0, -1), 'plant_']) await expectRefused(`Bearer ${text}`, length);
  });

  test('a common mistake: the message says what is odd, without the token', async () => {
    const { token } = service;
    const word = ' It begins with a word, such as a second "Bearer".';
    const characters = ' It has characters that no token has, such as quotes, spaces or a backslash.';
    for (const text of [`Bearer ${token}`, `token ${token}`]) await expectRefused(`Bearer ${text}`, word);
    for (const text of [`"${token}"`, `'${token}'`, `<${token}>`, `${token}\\n`, `${token} ${token}`])
      await expectRefused(`Bearer ${text}`, characters);
    const start =
      ' A token of the service begins with plant_; one of an identity provider has three parts with dots between them.';
    for (const text of [`x${token}`, token.toUpperCase(), token.slice(6), `token=${token}`, 'null', '-'])
      await expectRefused(`Bearer ${text}`, start);
    for (const text of ['a.b.c', 'eyJ-_.e30.sig']) await expectRefused(`Bearer ${text}`);
  });

  test('its hash, which the database stores', async () => {
    await expectRefused(`Bearer plant_${Buffer.from(hashTokenText(service.token), 'hex').toString('base64url')}`);
  });

  test('one that has just expired, although the service accepted it before', async () => {
    const expiresAt = new Date(Date.now() + 60_000);
    const token = await makeToken('short', { expiresAt });
    expect((await send(`Bearer ${token}`)).status).toBe(200);
    jest.spyOn(Date, 'now').mockImplementation(() => expiresAt.getTime() - 1);
    expect((await send(`Bearer ${token}`)).status).toBe(200);
    jest.spyOn(Date, 'now').mockImplementation(() => expiresAt.getTime());
    await expectRefused(`Bearer ${token}`);
  });

  test('only a revoked one can be deleted', async () => {
    await makeToken('to delete');
    expect(await service.tokens.delete('to delete')).toBe(false);
    await service.tokens.revoke('to delete');
    expect(await service.tokens.delete('to delete')).toBe(true);
  });

  test('revoking one again does not change when it was revoked', async () => {
    await makeToken('revoked twice');
    const revoke = async () => {
      await service.tokens.revoke('revoked twice');
      return (await service.tokens.list()).find(({ name }) => name === 'revoked twice')?.revokedAt;
    };
    const first = await revoke();
    await setTimeout(20);
    expect(await revoke()).toEqual(first);
  });

  test('a revoked one after at most 5 seconds, although the service accepted it before', async () => {
    const token = await makeToken('revoked');
    expect((await send(`Bearer ${token}`)).status).toBe(200);
    await service.tokens.revoke('revoked');
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 5000);
    await expectRefused(`Bearer ${token}`);
  });
});

test('code 1102: the token lacks the scope', async () => {
  const token = await makeToken('reader', { scopes: ['plants:read'] });
  const response = await send(`Bearer ${token}`);
  expect(response.status).toBe(403);
  expect(response.body.error).toBe(1102);
  expect(response.headers['www-authenticate']).toBe(
    'Bearer realm="plants", error="insufficient_scope", scope="plants:write"',
  );
});

test('the scheme is case-insensitive (RFC 9110 §11.1)', async () => {
  expect((await send(`bearer  ${service.token}`)).status).toBe(200);
  expect((await send(`BEARER ${service.token}`)).status).toBe(200);
});

test('the service checks the token before it reads the body', async () => {
  expect((await send('Bearer wrong', 'no JSON')).status).toBe(401);
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1000)) });
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: endless, duplex: 'half' };
  expect((await fetch(`${service.baseUrl}/plants`, init as RequestInit)).status).toBe(401);
});

test('a client that sends Expect: 100-continue gets the answer before it sends the body', async () => {
  const { request } = await import('node:http');
  const ask = (token: string, more: Record<string, string> = {}, [method, path] = ['POST', '/plants']) =>
    new Promise<string>((resolve, reject) => {
      const body = JSON.stringify({ id: nextId++, name: 'Fir' });
      const headers = {
        Authorization: `Bearer ${token}`,
        Expect: '100-continue',
        'Content-Type': 'application/json',
        'Content-Length': body.length,
        ...more,
      };
      const call = request(`${service.baseUrl}${path}`, { method, headers });
      let invited = false;
      call.on('continue', () => {
        invited = true;
        call.end(body);
      });
      call.on('response', (response) => {
        resolve(`${invited ? 'invited' : 'not invited'}, ${response.statusCode}`);
        call.destroy();
      });
      call.on('error', reject);
      call.flushHeaders();
    });
  expect(await ask(service.token)).toBe('invited, 200');
  expect(await ask(service.token, { 'Content-Length': '1048577' })).toBe('not invited, 400');
  expect(await ask(service.token, { 'Content-Type': 'text/plain' })).toBe('not invited, 400');
  expect(await ask('wrong')).toBe('not invited, 401');
  for (const wrong of [
    ['PUT', '/plants/x'],
    ['PUT', '/plants/1?page=2'],
    ['PATCH', '/plants'],
  ] as [string, string][])
    expect(await ask(service.token, {}, wrong)).toBe('not invited, 400');
});

testUnless(noScans, 'a token that the service accepted a moment ago needs no lookup', async () => {
  const own = await start();
  const ids = Array.from({ length: 100 }, (_, id) => id);
  await Promise.all(ids.map((id) => own.post({ id, name: 'Fir' })));
  await stopAndCount(own);
  const [row] = await own.database.query(
    "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'tokens_hash_key'",
  );
  const lookups = Number(row?.idx_scan);
  expect(lookups).toBeGreaterThan(0);
  expect(lookups).toBeLessThan(10);
});

test('tokens are listed in the order of their creation', async () => {
  const own = await start();
  for (const name of ['second', 'first', 'third'])
    await own.tokens.create({ name, scopes: ['plants:read'], expiresAt: null });
  for (const [place, name] of ['test', 'second', 'first', 'third'].entries())
    await own.database.query(
      "UPDATE tokens SET created_at = '2026-01-01'::timestamp + $1 * interval '1 hour' WHERE name = $2",
      [String(place), name],
    );
  // PostgreSQL writes a changed row to another place.
  await own.tokens.revoke('second');
  expect((await own.tokens.list()).map(({ name }) => name)).toEqual(['test', 'second', 'first', 'third']);
});

test('the text from before a rotation is valid no longer than the token', async () => {
  const own = await start();
  await own.tokens.rotate('test', 3_600_000);
  const status = async () => (await own.request('get', '/plants/1')).status;
  expect(await status()).toBe(404);
  await own.database.query("UPDATE tokens SET expires_at = now() WHERE name = 'test'");
  const later = await start({}, { databaseUrl: own.database.url });
  expect((await later.agent.get('/plants/1').set('Authorization', `Bearer ${own.token}`)).status).toBe(401);
});

test('a rotation that is undone leaves the text from before valid until the token expires', async () => {
  const token = await makeToken('undone');
  await service.tokens.undoRotate(String(await service.tokens.rotate('undone', 0)));
  expect((await send(`Bearer ${token}`)).status).toBe(200);
});

test('the database stores only the SHA-256 of a token', async () => {
  const [row] = await service.database.query("SELECT *, t::text AS everything FROM tokens t WHERE name = 'test'");
  expect(row?.hash).toEqual(Buffer.from(hashTokenText(service.token), 'hex'));
  expect(row?.everything).not.toContain(service.token.slice(6));
});
