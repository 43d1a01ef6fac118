import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generateTokenText, hashTokenText, type Scope } from '../src/tokens/token.ts';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

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
      expect(response.headers['www-authenticate']).toBe('Bearer realm="plants"');
    },
  );
});

describe('code 1101: a token that is not valid', () => {
  const expectRefused = async (authorization: string) => {
    const response = await send(authorization);
    expect(response.status).toBe(401);
    expect(response.body).toEqual({ error: 1101, message: 'The token is wrong, expired or revoked.' });
    expect(response.headers['www-authenticate']).toBe('Bearer realm="plants", error="invalid_token"');
  };

  test('one that was never made', async () => {
    await expectRefused(`Bearer ${generateTokenText()}`);
  });

  test('one with something before, behind or between, or in other case', async () => {
    const { token } = service;
    for (const text of [
      `${token}x`,
      token.slice(0, -1),
      `x${token}`,
      token.toUpperCase(),
      `${token} ${token}`,
      `"${token}"`,
    ]) {
      await expectRefused(`Bearer ${text}`);
    }
  });

  test('its hash, which is what the database holds', async () => {
    await expectRefused(`Bearer plant_${Buffer.from(hashTokenText(service.token)).toString('base64url')}`);
  });

  test('an expired one, to the moment, though it was known', async () => {
    const token = await makeToken('short', { expiresAt: new Date(Date.now() + 700) });
    expect((await send(`Bearer ${token}`)).status).toBe(200);
    await setTimeout(800);
    await expectRefused(`Bearer ${token}`);
  });

  test('a revoked one, within 5 seconds, though it was known', async () => {
    const token = await makeToken('revoked');
    expect((await send(`Bearer ${token}`)).status).toBe(200);
    await service.tokens.revoke('revoked');
    const revokedAt = performance.now();
    while ((await send(`Bearer ${token}`)).status === 200) {
      expect(performance.now() - revokedAt).toBeLessThan(5000);
      await setTimeout(100);
    }
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

test('the name of the scheme is in any case (RFC 9110 §11.1)', async () => {
  expect((await send(`bearer  ${service.token}`)).status).toBe(200);
  expect((await send(`BEARER ${service.token}`)).status).toBe(200);
});

test('the token is checked before the body is read', async () => {
  expect((await send('Bearer wrong', 'no JSON')).status).toBe(401);
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1000)) });
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: endless, duplex: 'half' };
  expect((await fetch(`${service.baseUrl}/plants`, init as RequestInit)).status).toBe(401);
});

test('a client that asks first is told before it sends (Expect: 100-continue)', async () => {
  const { request } = await import('node:http');
  const ask = (token: string) =>
    new Promise<string>((resolve, reject) => {
      const body = JSON.stringify({ id: nextId++, name: 'Fir' });
      const headers = {
        Authorization: `Bearer ${token}`,
        Expect: '100-continue',
        'Content-Type': 'application/json',
        'Content-Length': body.length,
      };
      const call = request(`${service.baseUrl}/plants`, { method: 'POST', headers });
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
  expect(await ask('wrong')).toBe('not invited, 401');
});

test('a known token costs no round trip', async () => {
  const own = await startTestService();
  const ids = Array.from({ length: 100 }, (_, id) => id);
  await Promise.all(ids.map((id) => own.post({ id, name: 'Fir' })));
  // PostgreSQL publishes its counters when a connection has been idle for a while: the plants tell when it has.
  const counters = async () => {
    const [row] = await own.database.query(`
      SELECT (SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'plants') AS plants,
             (SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'tokens_hash_key') AS lookups`);
    return { plants: Number(row?.plants), lookups: Number(row?.lookups) };
  };
  while ((await counters()).plants < ids.length) await setTimeout(100);
  await setTimeout(1100);
  const { lookups } = await counters();
  expect(lookups).toBeGreaterThan(0);
  expect(lookups).toBeLessThan(10);
  await own.stop();
});

test('the database holds a token as its SHA-256 alone', async () => {
  const [row] = await service.database.query("SELECT *, t::text AS everything FROM tokens t WHERE name = 'test'");
  expect(row?.hash).toEqual(Buffer.from(hashTokenText(service.token)));
  expect(row?.everything).not.toContain(service.token.slice(6));
});
