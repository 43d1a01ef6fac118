import { afterEach, expect, jest, test } from '@jest/globals';
import { lockRow } from '../support/lock-table.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const start = useTestServices();
afterEach(() => {
  jest.restoreAllMocks();
});
type Service = Awaited<ReturnType<typeof start>>;

const read = (service: Service) => service.request('get', '/plants').then(({ status }) => status);

/** The service then looks the token up again. */
const expireCache = () => {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + 5000);
};

/** The version of the row changes with each UPDATE. */
const rowOf = async ({ database }: Service) =>
  (
    await database.query(`SELECT xmin::text, last_used_at,
      last_used_at = date_trunc('hour', now(), 'UTC') AS "isThisHour" FROM tokens WHERE name = 'test'`)
  )[0];
const noted = (service: Service) =>
  waitUntil('the time of use', async () => (await rowOf(service))?.isThisHour === true);

test('the hour in which a token was last used is noted once', async () => {
  const service = await start();
  expect((await service.tokens.list())[0]?.lastUsedAt).toBeNull();
  expect(await read(service)).toBe(200);
  await noted(service);
  const [token] = await service.tokens.list();
  expect((token?.lastUsedAt?.getTime() ?? 1) % 3_600_000).toBe(0);
  const before = await rowOf(service);
  expireCache();
  expect(await read(service)).toBe(200);
  await service.stopServer();
  expect(await rowOf(service)).toEqual(before);
});

test('it is noted again in a later hour', async () => {
  const service = await start();
  await service.database.query("UPDATE tokens SET last_used_at = now() - interval '61 minutes'");
  expect(await read(service)).toBe(200);
  await noted(service);
});

test('a use that is refused is not noted', async () => {
  const service = await start();
  await service.tokens.revoke('test');
  expect(await read(service)).toBe(401);
  await service.stopServer();
  expect(await rowOf(service)).toMatchObject({ last_used_at: null });
});

test('a row that is locked delays no request', async () => {
  const service = await start();
  const unlock = await lockRow(service.database.url, "tokens WHERE name = 'test'");
  expect(await read(service)).toBe(200);
  expect(await read(service)).toBe(200);
  await unlock();
  await noted(service);
});

testUnless(
  onCitus('reference tables have no triggers'),
  'a role that may not note it fails no request, and the log says so once',
  async () => {
    const service = await start();
    await service.database.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
     CREATE TRIGGER refuse BEFORE UPDATE ON tokens FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );
    expect(await read(service)).toBe(200);
    expireCache();
    expect(await read(service)).toBe(200);
    expect(await rowOf(service)).toMatchObject({ last_used_at: null });
    expect(service.log.filter(({ level }) => level !== 'info')).toEqual([
      expect.objectContaining({ level: 'warn', msg: 'the last use of a token could not be noted' }),
    ]);
  },
);
