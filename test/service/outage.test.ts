import { expect, test } from '@jest/globals';
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
  // Most failed requests are as short as others.
  const failed = linesWith('request failed');
  expect(failed.filter(({ err }) => err === undefined).length).toBeGreaterThan(failed.length / 2);
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
