import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { SCOPES } from '../../src/tokens/token.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

/** In ms. */
const INTERVAL = 200;

let provider: IdentityProvider;
let service: TestService;
beforeAll(async () => {
  provider = await startIdentityProvider();
  service = await startTestService(provider.environment, { requestLimits: { tokenCheckInterval: INTERVAL } });
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});
const requests: ClientRequest[] = [];
beforeEach(async () => {
  await service.database.query('TRUNCATE plants');
  service.log.splice(0);
});
afterEach(() => {
  for (const request of requests.splice(0)) request.destroy();
});

const count = async () => Number((await service.database.query('SELECT count(*) FROM plants'))[0]?.count);
const create = (name: string, expiresAt: Date | null = null) =>
  service.tokens.create({ name, scopes: SCOPES, expiresAt });

/** Begins an import, whose body goes on. */
const openImport = async (token: string) => {
  const request = httpRequest(`${service.baseUrl}/plants/import`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-ndjson' },
  });
  requests.push(request);
  request.on('error', () => {});
  const answer = once(request, 'response').then(async (args) => {
    const [response] = args as [IncomingMessage];
    let text = '';
    for await (const piece of response.setEncoding('utf8')) text += piece;
    return { status: response.statusCode, headers: response.headers, body: JSON.parse(text) };
  });
  answer.catch(() => {});
  request.write(Array.from({ length: 2001 }, (_, id) => `{"id":${id},"name":"Fir"}\n`).join(''));
  await waitUntil('the import', () => service.inUse().imports === 1);
  return { request, answer };
};

const CUT_OFF = {
  status: 401,
  headers: { 'www-authenticate': 'Bearer realm="plants", error="invalid_token"' },
  body: {
    error: 1101,
    message: 'The token is wrong, expired or revoked. Nothing is stored. Repeat the import.',
  },
};

describe('an import ends with 401, and nothing is stored,', () => {
  test('when its token is revoked', async () => {
    const { answer } = await openImport(await create('revoked'));
    await service.tokens.revoke('revoked');
    expect(await answer).toMatchObject(CUT_OFF);
    expect(await count()).toBe(0);
  });

  test('when its token expires', async () => {
    const { answer } = await openImport(await create('expiring', new Date(Date.now() + 3_600_000)));
    await service.database.query("UPDATE tokens SET expires_at = now() WHERE name = 'expiring'");
    expect(await answer).toMatchObject(CUT_OFF);
  });

  test('when its JWT expires', async () => {
    const key = await provider.addKey('key');
    const { answer } = await openImport(await key.sign());
    const clock = Date.now.bind(Date);
    // Its 60 s and the five by which clocks may differ.
    jest.spyOn(Date, 'now').mockImplementation(() => clock() + 66_000);
    expect(await answer.finally(() => jest.restoreAllMocks())).toMatchObject(CUT_OFF);
  });
});

test('an import goes on while its token is valid, or cannot be checked', async () => {
  const { request, answer } = await openImport(await create('valid'));
  await service.database.query('ALTER TABLE tokens RENAME TO other');
  await setTimeout(3 * INTERVAL);
  await service.database.query('ALTER TABLE other RENAME TO tokens');
  await setTimeout(2 * INTERVAL);
  request.end();
  expect(await answer).toMatchObject({ status: 200, body: { created: 2001 } });
});

test('an export ends with 401 when its token is revoked before the first plant', async () => {
  const unlock = await lockPlants(service.database.url);
  const token = await create('waiting');
  const answer = service.agent.get('/plants/export').set('Authorization', `Bearer ${token}`).then();
  try {
    await waitForBlocked(service.database, 'FROM plants');
    await service.tokens.revoke('waiting');
    expect(await answer).toMatchObject({ status: 401, body: { error: 1101 } });
  } finally {
    await unlock();
  }
});

test('an export is cut off when its token is revoked', async () => {
  await service.database.query(
    "INSERT INTO plants (id, name) SELECT id, repeat('x', 10000) FROM generate_series(1, 3000) AS id",
  );
  const token = await create('reader');
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`GET /plants/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await once(socket, 'readable');
  await service.tokens.revoke('reader');
  const line = () => service.log.find(({ path }) => path === '/plants/export');
  await waitUntil('its end', () => line() !== undefined);
  expect(line()).toMatchObject({ status: 200, error: 1101 });
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  await once(socket, 'close');
  const text = Buffer.concat(pieces).toString('latin1');
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(text.endsWith('\r\n0\r\n\r\n')).toBe(false);
});
