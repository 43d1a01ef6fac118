import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { readConfig } from '../../src/config/config.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { SCOPES } from '../../src/tokens/token.ts';
import { lockTable } from '../support/lock-table.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { patientLookUps, startTestService, type TestService } from '../support/test-service.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

// As an administrator limits all sessions of a database or role: those of exports have no other limit.
const database = useTestDatabase();
beforeAll(() => database.administer(`ALTER DATABASE ${database.name} SET lock_timeout = '500ms'`));

let service: TestService;
let token: string;
let unlock = async () => {};
beforeAll(async () => {
  const environment = { REQUEST_TIMEOUT: '5', RATE_LIMIT: '1000/60' };
  const { imports } = limitRequests(readConfig(environment));
  // Much shorter than any deadline: the machine may be busy.
  const requestLimits = { ...patientLookUps, lockTimeout: 500, imports: { ...imports, lockTimeout: 500 } };
  service = await startTestService(environment, { databaseUrl: database.url, requestLimits });
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.log.splice(0);
  // The look-up of a new token is in no cache.
  token = await service.tokens.create({ name: crypto.randomUUID(), scopes: SCOPES, expiresAt: null });
});
afterEach(async () => {
  await unlock();
  unlock = async () => {};
});

const send = async (method: string, path: string, body?: unknown, more: object = {}) => {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...more };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(service.baseUrl + path, { method, headers, body: text });
  const content = await response.text();
  return { status: response.status, body: response.ok ? content : JSON.parse(content) };
};

const LOCKED = {
  status: 503,
  body: { error: 1500, message: 'Another transaction has locked the data; nothing was changed. Try again later.' },
};

const expectLocked = async (answer: ReturnType<typeof send>) => {
  expect(await answer).toEqual(LOCKED);
  expect(service.log.find(({ level }) => level === 'error')).toBeUndefined();
  const line = service.log.at(-1);
  expect([line?.level, line?.error, line?.err]).toEqual(['warn', 1500, undefined]);
};

test.each([
  ['a plant', '/plants/1'],
  ['a page', '/plants'],
  ['plants by id', '/plants?id=1&id=2'],
  ['a search by name', '/plants?q=fir'],
  ['a search by tag', '/plants?tag=x'],
  ['an export', '/plants/export'],
  ['an export of a search', '/plants/export?q=fir'],
])('%s', async (_name, path) => {
  // The lookups of the token and the rate limit are not what waits.
  await send('GET', '/plants/1');
  unlock = await lockTable(database.url, 'plants');
  await expectLocked(send('GET', path));
});

test('the lookup of a token', async () => {
  unlock = await lockTable(database.url, 'tokens');
  await expectLocked(send('POST', '/plants', { id: 1, name: 'Fir' }));
});

test('counting for the rate limit', async () => {
  unlock = await lockTable(database.url, 'rate_limits');
  await expectLocked(send('POST', '/plants', { id: 1, name: 'Fir' }));
});

test('a readiness check', async () => {
  unlock = await lockTable(database.url, '_prisma_migrations');
  await expectLocked(send('GET', '/readyz'));
});

test.each(['', '?onConflict=replace', '?dryRun=true'])('an import%s, which says what is stored', async (query) => {
  unlock = await lockTable(database.url, 'plants');
  const { status, body } = await send('POST', `/plants/import${query}`, '{"id":1,"name":"Fir"}\n', {
    'Content-Type': 'application/x-ndjson',
  });
  expect([status, body.error]).toEqual([503, 1500]);
  expect(body.message).toMatch(/^Another transaction has locked a plant\. Nothing is stored/);
  expect(service.log.find(({ level }) => level === 'error')).toBeUndefined();
});

const noKeys = onCitus('keys are refused');
const PATCH = { name: 'Fir', tag: 'x' };

testUnless(noKeys, 'the lookup of a key', async () => {
  await send('GET', '/plants/1');
  unlock = await lockTable(database.url, 'idempotency_keys');
  const { status, body } = await send('PATCH', '/plants/999', PATCH, { 'Idempotency-Key': 'a', 'If-Match': '"x"' });
  expect([status, body.error]).toEqual([503, 1500]);
});

testUnless(noKeys, 'a key that another instance is about to keep for a change that fails', async () => {
  const headers = { 'Idempotency-Key': 'b', 'If-Match': '"x"' };
  const patch = () => send('PATCH', '/plants/999', PATCH, headers);
  expect((await patch()).status).toBe(404);
  const [kept] = await database.query('DELETE FROM idempotency_keys RETURNING idempotency_keys::text AS row');
  const other = new Client({ connectionString: database.url });
  await other.connect();
  unlock = () => other.end();
  await other.query('BEGIN');
  await other.query('INSERT INTO idempotency_keys SELECT ($1::idempotency_keys).*', [kept?.row]);
  const { status, body } = await patch();
  expect([status, body.error]).toEqual([503, 1500]);
});
