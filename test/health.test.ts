import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { lockPlants } from './support/lock-plants.ts';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
afterEach(() => service.stop());

describe('GET /livez and GET /readyz', () => {
  test('answer 200 on a migrated database, without a token, and at the root whatever the base path', async () => {
    service = await startTestService({ BASE_PATH: '/api/v1' });
    expect((await service.agent.get('/livez')).body).toEqual({ status: 'live' });
    expect((await service.agent.get('/readyz')).body).toEqual({ status: 'ready' });
    expect((await service.agent.head('/readyz')).status).toBe(200);
    expect((await service.agent.get('/plants')).status).toBe(404);
    expect((await service.agent.get('/api/v1/plants')).status).toBe(405);
  });

  test('are live and not ready on a database that is not migrated, code 1502', async () => {
    service = await startTestService({}, { migrated: false });
    expect((await service.agent.get('/livez')).status).toBe(200);
    const expected = { error: 1502, message: 'The database is not migrated; run: plant-store migrate' };
    const ready = await service.agent.get('/readyz');
    expect([ready.status, ready.body]).toEqual([503, expected]);
    const post = await service.agent
      .post('/plants')
      .set('Authorization', `Bearer plant_${'x'.repeat(43)}`)
      .send('{}');
    expect([post.status, post.body]).toEqual([503, expected]);
    expect(post.headers['retry-after']).toBe('1');
  });

  test('are live and not ready without a database, code 1501, and ready again with it', async () => {
    service = await startTestService();
    await service.post({ id: 1, name: 'Fir' });
    const { name } = service.database;
    const admin = (sql: string) => service.database.administer(sql);
    await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
    const expected = { error: 1501, message: 'The database cannot be reached; try again later.' };
    const [ready, post] = [await service.agent.get('/readyz'), await service.post({ id: 2, name: 'Fir' })];
    expect([ready.status, ready.body]).toEqual([503, expected]);
    expect([post.status, post.body]).toEqual([503, expected]);
    expect(post.headers['retry-after']).toBe('1');
    expect((await service.agent.get('/livez')).status).toBe(200);
    await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    expect((await service.agent.get('/readyz')).status).toBe(200);
    expect((await service.post({ id: 2, name: 'Fir' })).status).toBe(200);
  });
});

test.each([
  ['no server', { port: '1' }],
  ['a wrong password', { password: 'wrong' }],
  ['no such database', { pathname: '/nothing' }],
])('%s is 503, code 1501, to a probe and to a client', async (_title, change) => {
  const url = Object.assign(new URL(process.env.TEST_POSTGRES_URL ?? ''), change);
  service = await startTestService({}, { databaseUrl: url.href });
  const ready = await service.agent.get('/readyz');
  expect([ready.status, ready.body.error]).toEqual([503, 1501]);
  const post = await service.agent
    .post('/plants')
    .set('Authorization', `Bearer plant_${'x'.repeat(43)}`)
    .send('{}');
  expect([post.status, post.body.error]).toEqual([503, 1501]);
});

test('a store that stops is not ready, code 1503, and answers what is under way', async () => {
  service = await startTestService();
  const unlock = await lockPlants(service.database.url);
  const body = '{"id":1,"name":"Fir"}';
  const headers = `Host: x\r\nAuthorization: Bearer ${service.token}\r\nContent-Type: application/json\r\n`;
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.write(`POST /plants HTTP/1.1\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`);
  await setTimeout(200);
  const stopped = service.stopServer();
  socket.write('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n');
  await setTimeout(200);
  await expect(fetch(`${service.baseUrl}/livez`)).rejects.toThrow();
  await unlock();
  await stopped;
  expect(received).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"name":"Fir"\}HTTP\/1\.1 503 [\s\S]*"error":1503/);
});
