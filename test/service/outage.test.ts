import { describe, expect, test } from '@jest/globals';
import { lockTable, waitForBlocked } from '../support/lock-table.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const start = useTestServices();

test('an outage: one line says that the database is lost, and one that it is back', async () => {
  const service = await start({ DATABASE_CONNECTIONS: '8' });
  const { database } = service;
  const read = () => service.request('get', '/plants').then(({ status }) => status);
  const linesWith = (text: string) => service.log.filter(({ msg }) => msg.startsWith(text));
  const hammer = async () => new Set(await Promise.all(Array.from({ length: 40 }, read)));
  expect(await hammer()).toEqual(new Set([200]));
  await database.administer(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS false`);
  await database.administer(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database.name}'`,
  );
  await waitUntil('the outage', async () => (await service.agent.get('/readyz')).status === 503);
  expect(await hammer()).toEqual(new Set([503]));
  expect(await hammer()).toEqual(new Set([503]));
  await database.administer(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS true`);
  expect(await hammer()).toEqual(new Set([200]));
  expect(linesWith('the database ')).toEqual([
    expect.objectContaining({
      level: 'error',
      msg: 'the database cannot be reached',
      err: expect.objectContaining({ message: expect.stringContaining('not currently accepting connections') }),
    }),
    expect.objectContaining({ level: 'info', msg: 'the database can be reached again', duration: expect.any(Number) }),
  ]);
  expect(linesWith('this instance ')).toEqual([expect.objectContaining({ level: 'warn' })]);
  // Most failed requests are as short as others.
  const failed = linesWith('request failed');
  expect(failed.filter(({ err }) => err === undefined).length).toBeGreaterThan(failed.length / 2);
});

test('an outage that only the readiness checks notice has these lines, too', async () => {
  const service = await start();
  const { database } = service;
  const ready = async () => (await service.agent.get('/readyz')).status;
  const lines = () => service.log.map(({ msg }) => String(msg)).filter((msg) => msg.startsWith('the database '));
  expect([await ready(), lines()]).toEqual([200, []]);
  await database.administer(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS false`);
  await database.administer(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database.name}'`,
  );
  await waitUntil('the outage', async () => (await ready()) === 503 && lines().length > 0);
  await database.administer(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS true`);
  await waitUntil('the end', async () => (await ready()) === 200);
  expect(lines()).toEqual(['the database cannot be reached', 'the database can be reached again']);
});

describe('whether an instance is ready', () => {
  const startWithMetrics = async () => {
    const service = await start({ METRICS_PORT: '0' });
    return {
      ...service,
      ready: async () => (await service.metrics()).value('plant_store_ready'),
      // On the port of the metrics, where probes have no line and are not counted.
      probe: async () => (await fetch(service.metricsUrl().replace('/metrics', '/readyz'))).status,
      lines: () => service.log.filter(({ msg }) => String(msg).startsWith('this instance ')),
    };
  };

  test('is shown by the metrics, and has a line with the reason when it changes, not for each probe', async () => {
    const { ready, probe, lines, database } = await startWithMetrics();
    expect([await ready(), await probe(), await ready(), lines()]).toEqual([1, 200, 1, []]);
    await database.query('ALTER TABLE _prisma_migrations RENAME TO hidden');
    // A check that began before may be under way, because each scrape starts one.
    await waitUntil('the failure', async () => (await probe()) === 503);
    for (let time = 0; time < 3; time++) expect([await probe(), await ready()]).toEqual([503, 0]);
    expect(lines()).toEqual([
      expect.objectContaining({
        level: 'warn',
        msg: 'this instance is not ready',
        err: expect.objectContaining({ message: 'relation "_prisma_migrations" does not exist' }),
      }),
    ]);
    await database.query('ALTER TABLE hidden RENAME TO _prisma_migrations');
    await waitUntil('the end', async () => (await probe()) === 200);
    for (let time = 0; time < 3; time++) expect([await probe(), await ready()]).toEqual([200, 1]);
    expect(lines().slice(1)).toEqual([
      expect.objectContaining({ level: 'info', msg: 'this instance is ready again', duration: expect.any(Number) }),
    ]);
  });

  test('is checked by each scrape as well, since there may be no probes', async () => {
    const { ready, database } = await startWithMetrics();
    await database.query('ALTER TABLE _prisma_migrations RENAME TO hidden');
    await waitUntil('the metrics to show that it is not ready', async () => (await ready()) === 0);
    await database.query('ALTER TABLE hidden RENAME TO _prisma_migrations');
    await waitUntil('the metrics to show that it is ready', async () => (await ready()) === 1);
  });

  test('names a read-only database as the reason, which can be reached', async () => {
    const { ready, probe, lines, log, database } = await startWithMetrics();
    await database.administer(`ALTER DATABASE ${database.name} SET default_transaction_read_only = on`);
    expect([await probe(), await ready()]).toEqual([503, 0]);
    expect(lines()).toEqual([expect.objectContaining({ err: expect.objectContaining({ code: '25006' }) })]);
    expect(log.filter(({ msg }) => String(msg).startsWith('the database '))).toEqual([]);
  });

  test('is no matter while it stops, which fails probes with 1504', async () => {
    const service = await start({ METRICS_PORT: '0', SHUTDOWN_DELAY: '1' });
    const stopped = service.stopServer();
    const { status, body } = await service.agent.get('/readyz');
    expect([status, body.error, (await service.metrics()).value('plant_store_ready')]).toEqual([503, 1504, 1]);
    await stopped;
    expect(service.log.filter(({ msg }) => String(msg).startsWith('this instance '))).toEqual([]);
  });
});

test('a service all of whose connections wait for a lock is ready', async () => {
  const service = await start({ DATABASE_CONNECTIONS: '1' });
  expect((await service.post({ id: 1, name: 'Fir' })).status).toBe(200);
  const unlock = await lockTable(service.database.url, 'plants', 'SHARE');
  const write = service.post({ id: 2, name: 'Fir' }).then(({ status }) => status);
  await waitForBlocked(service.database, 'plants');
  expect((await service.agent.get('/readyz')).status).toBe(200);
  await unlock();
  expect(await write).toBe(200);
});
