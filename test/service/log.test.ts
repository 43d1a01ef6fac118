import { describe, expect, jest, test } from '@jest/globals';
import type { Test } from 'supertest';
import { generateTokenText } from '../../src/tokens/token.ts';
import { nextRequest } from '../support/next-request.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { useTestService, useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const noTriggers = onCitus('plants can have no trigger');
const service = useTestService();
const start = useTestServices();

const lineOf = (id: string) => service.log.find(({ requestId }) => requestId === id);

describe('the log has one line per request', () => {
  test('with the token name, the request and the outcome', async () => {
    const response = await service.post({ id: 1, name: 'Secret fir' }, { 'X-Request-Id': 'my-id.1' });
    expect(response.headers['x-request-id']).toBe('my-id.1');
    expect(lineOf('my-id.1')).toEqual({
      level: 'info',
      time: expect.any(Number),
      requestId: 'my-id.1',
      client: '127.0.0.1',
      method: 'POST',
      path: '/plants',
      status: 200,
      duration: expect.any(Number),
      token: 'test',
      plant: '1',
      msg: 'request completed',
    });
    expect(service.log.filter(({ requestId }) => requestId === 'my-id.1')).toHaveLength(1);
  });

  test('with the id of the plant that it creates, reads or changes, in all digits', async () => {
    const id = '-9223372036854775808';
    const line = async (request: Test) => lineOf((await request).headers['x-request-id'] ?? '');
    expect(await line(service.post(`{"id":${id},"name":"Fir"}`))).toMatchObject({ status: 200, plant: id });
    expect(await line(service.post(`{"id":${id},"name":"Fir"}`))).toMatchObject({ error: 1004, plant: id });
    const path = `/plants/${id}`;
    expect(await line(service.request('get', path))).toMatchObject({ status: 200, plant: id });
    expect(await line(service.request('put', path).send({ name: 'Oak' }))).toMatchObject({ status: 200, plant: id });
    expect(await line(service.request('patch', path).send({ tag: 'a' }))).toMatchObject({ status: 200, plant: id });
    expect(await line(service.request('delete', path))).toMatchObject({ status: 204, plant: id });
    expect(await line(service.request('get', '/plants'))).not.toHaveProperty('plant');
    const refused = service.agent.delete(path).set('Authorization', `Bearer ${generateTokenText()}`);
    expect(await line(refused)).toMatchObject({ status: 401, plant: id });
    expect(await line(service.request('put', path).send('x'))).toMatchObject({ status: 400, plant: id });
  });

  test.each([
    ['revoked', null, true],
    ['expired', new Date(Date.now() - 1000), false],
  ])('with the name of a token that is %s', async (name, expiresAt, isRevoked) => {
    const token = await service.tokens.create({ name, scopes: ['plants:read'], expiresAt });
    if (isRevoked) await service.tokens.revoke(name);
    await service.agent.get('/plants').set({ Authorization: `Bearer ${token}`, 'X-Request-Id': name });
    expect(lineOf(name)).toMatchObject({ status: 401, error: 1101, token: name });
  });

  test('without the name of a token that does not exist', async () => {
    const Authorization = `Bearer ${generateTokenText()}`;
    await service.agent.get('/plants').set({ Authorization, 'X-Request-Id': 'made-up' });
    expect(lineOf('made-up')).toMatchObject({ status: 401, error: 1101 });
    expect(lineOf('made-up')).not.toHaveProperty('token');
  });

  test('with the error code, at level info', async () => {
    await service.post('{"id":', { 'X-Request-Id': 'wrong' });
    expect(lineOf('wrong')).toMatchObject({ level: 'info', status: 400, error: 1000, token: 'test' });
  });

  test('without the query', async () => {
    await service.agent.get('/nothing?secret=1').set('X-Request-Id', 'query');
    expect(lineOf('query')).toMatchObject({ path: '/nothing', status: 404, error: 1200 });
  });

  test('with at most 1,000 characters of a path, as several processes write whole lines only if they are short', async () => {
    for (const length of [1000, 1001]) {
      await service.agent.get(`/${'x'.repeat(length - 1)}`).set('X-Request-Id', `path-${length}`);
      expect(lineOf(`path-${length}`)).toMatchObject({ path: `/${'x'.repeat(999)}`, status: 404 });
    }
  });

  test('with the error code of an import that stores nothing', async () => {
    const importPlants = service.agent.post('/plants/import?maxErrors=0').set({
      Authorization: `Bearer ${service.token}`,
      'Content-Type': 'application/x-ndjson',
      'X-Request-Id': 'import',
    });
    expect((await importPlants.send('{"id":9}')).body).toMatchObject({ error: 1003, failed: 1 });
    expect(service.log).toContainEqual(
      expect.objectContaining({ requestId: 'import', msg: 'request completed', status: 400, error: 1003 }),
    );
  });

  test.each(['', 'a b', 'x'.repeat(129), '"quoted"', 'é'])('with a new id in place of %j', async (id) => {
    const response = await service.agent.get('/').set('X-Request-Id', Buffer.from(id).toString('latin1'));
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(lineOf(response.headers['x-request-id'] ?? '')).toMatchObject({ path: '/', status: 200 });
  });

  test('even if the client disconnects; then without a status', async () => {
    const abort = new AbortController();
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"id":1')) });
    const headers = {
      Authorization: `Bearer ${service.token}`,
      'Content-Type': 'application/json',
      'X-Request-Id': 'gone',
    };
    const init = { method: 'POST', headers, body, duplex: 'half', signal: abort.signal };
    const arrived = nextRequest();
    const request = fetch(`${service.baseUrl}/plants`, init as RequestInit).catch(() => {});
    await arrived;
    abort.abort();
    await request;
    await waitUntil('the log line', () => lineOf('gone') !== undefined);
    expect(lineOf('gone')).not.toHaveProperty('status');
    expect(lineOf('gone')).toMatchObject({ level: 'info', client: '127.0.0.1', msg: 'request aborted' });
  });
});

test('a proxy that TRUST_PROXY trusts tells the address of the client', async () => {
  const own = await start({ TRUST_PROXY: '1' });
  const lines: unknown[] = [];
  for (const forwarded of ['198.51.100.7', '203.0.113.9, ::ffff:198.51.100.7', '2001:db8::1', 'unknown']) {
    await own.agent.get('/').set({ 'X-Forwarded-For': forwarded, 'X-Request-Id': 'proxied' });
    lines.push(own.log.splice(0).find(({ requestId }) => requestId === 'proxied')?.client);
  }
  expect(lines).toEqual(['198.51.100.7', '198.51.100.7', '2001:db8::1', '127.0.0.1']);
});

test('probes have a line only if they fail', async () => {
  const own = await start({}, { migrated: false });
  for (const path of ['/livez', '/livez?from=probe', '/readyz']) await own.agent.get(path);
  expect(own.log.filter(({ msg }) => String(msg).startsWith('request'))).toEqual([
    expect.objectContaining({ level: 'error', path: '/readyz', status: 503 }),
  ]);
});

testUnless(
  noTriggers,
  'an unexpected error is logged at level error with its stack; the client gets no details',
  async () => {
    await service.database.query(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'odd' USING ERRCODE = 'internal_error', DETAIL = NEW.name; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.id = 500) EXECUTE FUNCTION fail()`);
    const response = await service.post({ id: 500, name: 'Secret fir' }, { 'X-Request-Id': 'fault' });
    expect(response.status).toBe(500);
    expect(response.body).toEqual({ error: 1599, message: 'Internal error. The log has the cause.' });
    expect(lineOf('fault')).toMatchObject({
      level: 'error',
      status: 500,
      error: 1599,
      err: { stack: expect.stringContaining('at ') },
    });
    expect(JSON.stringify(lineOf('fault'))).toContain('odd');
    // PostgreSQL's DETAIL has the row.
    expect(JSON.stringify(lineOf('fault'))).not.toContain('Secret fir');
  },
);

testUnless(
  noTriggers,
  'the log has no values that a trigger of the operator puts into its own statements',
  async () => {
    await service.database.query(`
    CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.id = 501 THEN EXECUTE 'SELECT ' || quote_literal(NEW.name) || ' FROM no_such_table'; END IF;
      EXECUTE 'DO $x$ BEGIN RAISE EXCEPTION ''odd'' USING ERRCODE = ''internal_error''; END $x$ -- ' || NEW.name; END $$;
    CREATE TRIGGER tell BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.id IN (501, 502)) EXECUTE FUNCTION tell()`);
    const before = service.log.length;
    for (const id of [501, 502]) {
      const plant = JSON.stringify({ id, name: 'Secret fir' });
      const type = { 'Content-Type': 'application/x-ndjson' };
      const imported = await service.agent
        .post('/plants/import')
        .set({ Authorization: `Bearer ${service.token}`, ...type })
        .send(plant);
      expect([imported.status, (await service.post(plant)).status]).toEqual([500, 500]);
    }
    await waitUntil('the lines', () => service.log.slice(before).filter(({ error }) => error === 1599).length === 4);
    expect(JSON.stringify(service.log)).not.toContain('Secret fir');
  },
);

test('the log contains no tokens and no bodies', async () => {
  await service.post({ id: 600, name: 'Secret fir' });
  await service.agent.post('/plants').set('Authorization', 'Bearer plant_wrong-and-secret');
  await service.agent.post('/plants').set('Authorization', 'Basic c2VjcmV0');
  await service.agent.get(`/plants/${service.token}`);
  await service.agent.get(`/plants/${service.token.replace('_', '%5F')}`).set('X-Request-Id', service.token);
  await service.agent.get('/plants/1;access_token=eyJhbGciOi.c2VjcmV0.c2VjcmV0');
  await service.agent.get(`/${'x'.repeat(960)}/${service.token}`);
  const log = JSON.stringify(service.log);
  for (const secret of [
    service.token,
    service.token.slice(6),
    service.token.slice(0, 20),
    'wrong-and-secret',
    'c2VjcmV0',
    'Secret fir',
    'uthorization',
  ]) {
    expect(log).not.toContain(secret);
  }
});

test('durations are correct even if the clock is changed', async () => {
  const before = Date.now();
  const clock = jest.spyOn(Date, 'now');
  try {
    // Every call goes back another hour.
    let hours = 0;
    clock.mockImplementation(() => before - 3_600_000 * hours++);
    await service.agent.get('/').set('X-Request-Id', 'clock');
  } finally {
    clock.mockRestore();
  }
  expect(lineOf('clock')).toMatchObject({ path: '/', status: 200 });
  expect(lineOf('clock')?.duration).toBeGreaterThanOrEqual(0);
  expect(lineOf('clock')?.duration).toBeLessThan(60_000);
});
