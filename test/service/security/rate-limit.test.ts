import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { readConfig } from '../../../src/config/config.ts';
import { limitRequests } from '../../../src/request-limits.ts';
import { lockPlants } from '../../support/lock-plants.ts';
import { lockTable } from '../../support/lock-table.ts';
import type { TestService } from '../../support/test-service.ts';
import { useTestServices } from '../../support/use-test-service.ts';
import { waitUntil } from '../../support/wait-until.ts';

afterEach(() => {
  jest.restoreAllMocks();
});
const start = useTestServices();

let nextId = 1;
const send = (service: TestService, headers: Record<string, string> = {}) =>
  service.post({ id: nextId++, name: 'Fir' }, headers);
const withoutToken = (service: TestService, headers: Record<string, string> = {}) =>
  service.agent.post('/plants').set(headers).send('{}');
const statuses = async (count: number, request: () => PromiseLike<{ status: number }>) => {
  const found: number[] = [];
  for (let turn = 0; turn < count; turn++) found.push((await request()).status);
  return found;
};
const countPlants = async ({ database }: TestService) =>
  Number((await database.query('SELECT count(*) FROM plants'))[0]?.count);

describe('RATE_LIMIT=3/60', () => {
  test('a fourth request with a token: 429, code 1400, nothing is stored; every response says how many requests are left', async () => {
    const service = await start({ RATE_LIMIT: '3/60' });
    for (const left of [2, 1, 0]) {
      const { status, headers } = await send(service);
      expect([status, headers['ratelimit-policy']]).toEqual([200, '"default";q=3;w=60']);
      expect(headers.ratelimit).toMatch(new RegExp(`^"default";r=${left};t=(60|5\\d)$`));
      expect(headers).not.toHaveProperty('retry-after');
    }
    for (const _turn of [1, 2]) {
      const { status, body, headers } = await send(service, { 'X-Request-Id': 'limited' });
      expect([status, body.error]).toEqual([429, 1400]);
      const wait = headers['retry-after'] ?? '';
      expect(Number(wait)).toBeGreaterThan(50);
      expect(headers.ratelimit).toBe(`"default";r=0;t=${wait}`);
      expect(headers['ratelimit-policy']).toBe('"default";q=3;w=60');
      expect(body.message).toBe(`More than 3 requests in 60 s; try again in ${wait} s.`);
    }
    expect(await countPlants(service)).toBe(3);
    expect(service.log).toContainEqual(
      expect.objectContaining({ requestId: 'limited', status: 429, error: 1400, token: 'test', level: 'info' }),
    );
  });

  test('one token at its limit: other tokens and the address are not limited', async () => {
    const service = await start({ RATE_LIMIT: '3/60' });
    const other = await service.tokens.create({ name: 'other', scopes: ['plants:write'], expiresAt: null });
    expect(await statuses(4, () => send(service))).toEqual([200, 200, 200, 429]);
    expect((await send(service, { Authorization: `Bearer ${other}` })).status).toBe(200);
    expect((await withoutToken(service)).status).toBe(401);
  });

  test('two services on one database share one limit exactly', async () => {
    const first = await start({ RATE_LIMIT: '20/60' });
    const second = await start({ RATE_LIMIT: '20/60' }, { databaseUrl: first.database.url });
    const headers = { Authorization: `Bearer ${first.token}` };
    const requests = Array.from({ length: 60 }, (_, turn) => send(turn % 2 ? first : second, headers));
    const answers = (await Promise.all(requests)).map(({ status }) => status);
    expect(answers.filter((status) => status === 200)).toHaveLength(20);
    expect(answers.filter((status) => status === 429)).toHaveLength(40);
    expect(await countPlants(first)).toBe(20);
  });

  test('requests of several tokens that arrive together are counted exactly, for each token', async () => {
    const service = await start({ RATE_LIMIT: '100/60' });
    const other = await service.tokens.create({ name: 'other', scopes: ['plants:write'], expiresAt: null });
    const requests = Array.from({ length: 60 }, (_, turn) =>
      send(service, { Authorization: `Bearer ${turn % 3 === 0 ? other : service.token}` }),
    );
    const left = (await Promise.all(requests)).map(({ headers }) =>
      Number(/r=(\d+);/.exec(headers.ratelimit ?? '')?.[1]),
    );
    const countdown = (count: number) => Array.from({ length: count }, (_, index) => 100 - count + index);
    const sorted = (numbers: number[]) => numbers.toSorted((a, b) => a - b);
    expect(sorted(left.filter((_, turn) => turn % 3 === 0))).toEqual(countdown(20));
    expect(sorted(left.filter((_, turn) => turn % 3 !== 0))).toEqual(countdown(40));
  });

  test('of the requests of a token that wait to be counted, the first are accepted', async () => {
    const { tokens } = limitRequests(readConfig({}));
    // Two batches at once would be counted in any order.
    const requestLimits = { tokens: { ...tokens, batches: 1, deadline: 30_000 } };
    const service = await start({ RATE_LIMIT: '3/60' }, { requestLimits });
    await send(service);
    const unlock = await lockTable(service.database.url, 'rate_limits');
    const answers: PromiseLike<{ status: number }>[] = [];
    for (let count = 1; count <= 4; count++) {
      answers.push(send(service).then((answer) => answer));
      await waitUntil(`${count} requests`, () => service.inUse().requests === count);
    }
    await unlock();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 429, 429]);
  });

  test('requests without a token, with a wrong one, or without the scope count, too', async () => {
    const service = await start({ RATE_LIMIT: '3/60' });
    expect(await statuses(5, () => withoutToken(service))).toEqual([401, 401, 401, 429, 429]);
    const wrong = await withoutToken(service, { Authorization: 'Bearer wrong' });
    expect([wrong.status, wrong.body.error]).toEqual([429, 1400]);
    expect((await send(service)).status).toBe(200);
    const reader = await service.tokens.create({ name: 'reader', scopes: ['plants:read'], expiresAt: null });
    const asReader = () => send(service, { Authorization: `Bearer ${reader}` });
    expect(await statuses(4, asReader)).toEqual([403, 403, 403, 429]);
  });

  test('health checks and unknown paths are never limited', async () => {
    const service = await start({ RATE_LIMIT: '1/60' });
    expect(await statuses(4, () => service.agent.get('/livez'))).toEqual([200, 200, 200, 200]);
    expect(await statuses(4, () => service.agent.get('/readyz'))).toEqual([200, 200, 200, 200]);
    expect(await statuses(4, () => service.agent.get('/nothing'))).toEqual([404, 404, 404, 404]);
    expect((await service.agent.get('/livez')).headers).not.toHaveProperty('ratelimit');
  });
});

/** Makes as much time pass for the service's clock and for the counters, which PostgreSQL's clock ends. */
const pass = async ({ database }: TestService, milliseconds: number) => {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds);
  await database.query(`UPDATE rate_limits SET expire = expire - ${milliseconds}`);
};
const keys = async ({ database }: TestService) =>
  (await database.query('SELECT key FROM rate_limits')).map(({ key }) => key).sort();

test('the end of a window stays where it is, however many requests come', async () => {
  const service = await start({ RATE_LIMIT: '3/60' });
  await service.database.query(`INSERT INTO rate_limits VALUES ('token:test', 1, ${Date.now() + 30_000})`);
  for (const left of [1, 0]) {
    const [, found, end] = /r=(\d);t=(\d+)$/.exec((await send(service)).headers.ratelimit ?? '') ?? [];
    expect([Number(found), Number(end) <= 30]).toEqual([left, true]);
  }
  const { status, headers } = await send(service);
  expect([status, Number(headers['retry-after']) <= 30]).toEqual([429, true]);
});

test('after the window ends, the count starts again', async () => {
  const service = await start({ RATE_LIMIT: '2/60' });
  expect(await statuses(3, () => send(service))).toEqual([200, 200, 429]);
  await pass(service, 60_001);
  expect(await statuses(3, () => send(service))).toEqual([200, 200, 429]);
});

test('a window ends when its time is over, and only then', async () => {
  const service = await start({ RATE_LIMIT: '1/2' });
  const sentAt = performance.now();
  expect(await statuses(2, () => send(service))).toEqual([200, 429]);
  await waitUntil('the end of the window', async () => (await send(service)).status === 200);
  expect(performance.now() - sentAt).toBeGreaterThan(1900);
});

test('a token over its limit is refused without a database statement', async () => {
  const service = await start({ RATE_LIMIT: '1/60' });
  expect(await statuses(2, () => send(service))).toEqual([200, 429]);
  expect(await statuses(3, () => send(service))).toEqual([429, 429, 429]);
  expect(await service.database.query('SELECT key, points FROM rate_limits')).toEqual([
    { key: 'token:test', points: 2 },
  ]);
});

/** Looks for counters of ended windows every few ms. */
const sweeping = { requestLimits: { sweepInterval: 20 } };

test('counters of windows that have ended are deleted, however many; others stay', async () => {
  const service = await start({ RATE_LIMIT: '5/60' }, sweeping);
  await withoutToken(service);
  await service.database.query(
    "INSERT INTO rate_limits SELECT 'address:' || n, 1, extract(epoch FROM now()) * 1000 FROM generate_series(1, 2500) n",
  );
  await pass(service, 60_001);
  await service.database.query(
    "INSERT INTO rate_limits VALUES ('token:open', 1, extract(epoch FROM now()) * 1000 + 30000)",
  );
  await send(service);
  await waitUntil('the deletion', async () => (await keys(service)).length === 2);
  expect(await keys(service)).toEqual(['token:open', 'token:test']);
});

describe('RATE_LIMIT=2/10 after the clock of PostgreSQL was set back an hour', () => {
  const HOUR = 3_600_000;
  const insert = ({ database }: TestService, key: string, points: number, endsIn: number) =>
    database.query(`INSERT INTO rate_limits VALUES ('${key}', ${points}, ${Date.now() + endsIn})`);
  const expectShortWait = ({ status, headers, body }: Awaited<ReturnType<typeof send>>) => {
    const wait = Number(headers['retry-after']);
    expect(status).toBe(429);
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(10);
    expect(Number(/t=(\d+)$/.exec(headers.ratelimit ?? '')?.[1])).toBe(wait);
    expect(body.message).toBe(`More than 2 requests in 10 s; try again in ${wait} s.`);
  };
  const windowEnd = async (service: TestService) =>
    Number((await service.database.query("SELECT expire FROM rate_limits WHERE key = 'token:test'"))[0]?.expire);

  test('a token over its limit waits for at most one window, and its counter ends', async () => {
    const service = await start({ RATE_LIMIT: '2/10' });
    await insert(service, 'token:test', 700, HOUR);
    expectShortWait(await send(service));
    expectShortWait(await send(service));
    expect(await windowEnd(service)).toBeLessThanOrEqual(Date.now() + 10_000);
    await pass(service, 10_001);
    expect(await statuses(3, () => send(service))).toEqual([200, 200, 429]);
  });

  test('a token within its limit is still counted, and its counter ends', async () => {
    const service = await start({ RATE_LIMIT: '2/10' });
    await insert(service, 'token:test', 1, HOUR);
    const { status, headers } = await send(service);
    expect([status, headers.ratelimit]).toEqual([200, '"default";r=0;t=10']);
    expect(await windowEnd(service)).toBeLessThanOrEqual(Date.now() + 10_000);
    expectShortWait(await send(service));
  });

  test('a window that ends slightly too late, as of a service with its own clock, is not restarted', async () => {
    const service = await start({ RATE_LIMIT: '2/10' });
    await insert(service, 'token:test', 1, 10_500);
    expect(await statuses(2, () => send(service))).toEqual([200, 429]);
  });

  test('rows from before are deleted', async () => {
    const service = await start({ RATE_LIMIT: '2/10' }, sweeping);
    await insert(service, 'token:now', 1, 15_000);
    await send(service);
    await insert(service, 'token:other', 1, HOUR);
    await waitUntil('the deletion', async () => (await keys(service)).length === 2);
    expect(await keys(service)).toEqual(['token:now', 'token:test']);
  });
});

test('counting takes too long: 503, code 1501, after a fifth of REQUEST_TIMEOUT', async () => {
  // Long enough that a request that waits for a statement is seen to, on any machine. In ms.
  const statementTimeout = 30_000;
  const service = await start(
    { RATE_LIMIT: '2/60', REQUEST_TIMEOUT: '15' },
    { requestLimits: { statementTimeout, lockTimeout: statementTimeout } },
  );
  expect((await send(service)).status).toBe(200);
  const unlock = await lockTable(service.database.url, 'rate_limits');
  const sentAt = performance.now();
  const { status, body } = await send(service);
  expect([status, body.error]).toEqual([503, 1501]);
  expect(performance.now() - sentAt).toBeLessThan(statementTimeout / 2);
  await unlock();
});

test('without RATE_LIMIT there is no limit, no header field and no row', async () => {
  const service = await start();
  const answers = await Promise.all(Array.from({ length: 100 }, () => send(service)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(Object.keys(answers[0]?.headers ?? {}).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
  expect(await service.database.query('SELECT 1 FROM rate_limits')).toEqual([]);
});

test('an unreachable database: 503, code 1501, rather than no limit', async () => {
  const service = await start({ RATE_LIMIT: '2/60' });
  expect(await statuses(2, () => send(service))).toEqual([200, 200]);
  const { name } = service.database;
  await service.database.administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await service.database.administer(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`,
  );
  const away = [await send(service), await withoutToken(service)];
  expect(away.map(({ status, body }) => [status, body.error])).toEqual([
    [503, 1501],
    [503, 1501],
  ]);
  await service.database.administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
  expect((await send(service)).status).toBe(429);
});

test('the body of a limited request is not read, and it does not wait for plants', async () => {
  const service = await start({ RATE_LIMIT: '1/60' });
  await send(service);
  const unlock = await lockPlants(service.database.url);
  const { status, body } = await service.post('no JSON');
  expect([status, body.error]).toEqual([429, 1400]);
  await unlock();
});
