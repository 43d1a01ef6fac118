import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { SCOPES, tokenState } from '../../src/tokens/token.ts';
import { createTokenRepository, type TokenRepository } from '../../src/tokens/token-repository.ts';
import { runProgram } from '../support/run-program.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { useTestServices } from '../support/use-test-service.ts';

const MINUTE = 60_000;
const start = useTestServices();

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

/** Settings of a database, which its new sessions have. */
type Settings = Record<string, string>;

const set = async (settings: Settings) => {
  await database.administer(`ALTER DATABASE ${database.name} RESET ALL`);
  for (const [name, value] of Object.entries(settings))
    await database.administer(`ALTER DATABASE ${database.name} SET ${name} = ${value}`);
};

/** Calls `use` with the stored tokens, through new sessions. */
const withTokens = async <Result>(use: (tokens: TokenRepository) => Promise<Result>): Promise<Result> => {
  const pool = createPool({ url: database.url, connections: 1, connectTimeout: 5000, statementTimeout: 10_000 });
  const client = createDatabase({ pool, onConnectionLost: () => {} });
  return use(createTokenRepository({ database: client })).finally(() => client.$disconnect());
};

const SETTINGS: [string, Settings][] = [
  ['New York', { timezone: "'America/New_York'" }],
  ['Kolkata and SQL dates', { timezone: "'Asia/Kolkata'", datestyle: "'SQL, DMY'", intervalstyle: "'sql_standard'" }],
  ['German dates', { datestyle: "'German'", timezone: "'Europe/Berlin'" }],
  ['PostgreSQL dates', { datestyle: "'Postgres, MDY'", timezone: "'Pacific/Auckland'" }],
  ['few digits, escaped bytes', { extra_float_digits: "'-15'", bytea_output: "'escape'" }],
];

describe.each(SETTINGS)('with %s', (_title, settings) => {
  test.each([
    ['made with it, used without', settings, {}],
    ['made without, used with it', {}, settings],
  ])('tokens keep their times, and are valid until they expire: %s', async (_order, made, used) => {
    const now = Date.now();
    const [later, earlier] = [new Date(now + MINUTE), new Date(now - 1000)];
    await set(made);
    const [fresh, old] = await withTokens(async (tokens) => {
      await tokens.create({ name: 'gone', scopes: ['plants:read'], expiresAt: null });
      expect(await tokens.revoke('gone')).toBe(true);
      return [
        await tokens.create({ name: 'fresh', scopes: SCOPES, expiresAt: later }),
        await tokens.create({ name: 'old', scopes: SCOPES, expiresAt: earlier }),
      ];
    });
    await set(used);
    const list = await withTokens((tokens) => tokens.list());
    expect(list).toMatchObject([
      { name: 'gone', expiresAt: null },
      { name: 'fresh', scopes: SCOPES, expiresAt: later, revokedAt: null },
      { name: 'old', expiresAt: earlier },
    ]);
    for (const date of [list[0]?.createdAt, list[0]?.revokedAt])
      expect(Math.abs(Number(date?.getTime()) - now)).toBeLessThan(MINUTE);

    const service = await start({}, { databaseUrl: database.url });
    const read = async (path: string, token = '') =>
      (await service.agent.get(path).set('Authorization', `Bearer ${token}`)).status;
    // The second answers come from the cache.
    for (let attempt = 0; attempt < 2; attempt++)
      expect([await read('/plants', fresh), await read('/plants', old)]).toEqual([200, 401]);
    expect([await read('/plants/export', fresh), await read('/plants/export', old)]).toEqual([200, 401]);
  });
});

const command = (...words: string[]) => runProgram(words, { DATABASE_URL: database.url });

test('the commands agree on a database with another time zone and date style', async () => {
  await set({ timezone: "'America/New_York'", datestyle: "'German'" });
  expect((await command('token', 'create', '--name', 'day', '--expires', '1d')).code).toBe(0);
  expect((await command('token', 'create', '--name', 'ms', '--expires', '1ms')).code).toBe(0);
  expect((await command('token', 'revoke', 'day')).code).toBe(0);
  await set({});
  const rows = JSON.parse((await command('token', 'list', '--json')).stdout);
  expect(rows.map(({ name, state }: Record<string, string>) => [name, state])).toEqual([
    ['day', 'revoked'],
    ['ms', 'expired'],
  ]);
  const [day] = rows;
  expect(Math.abs(Date.parse(day.expiresAt) - Date.now() - 24 * 60 * MINUTE)).toBeLessThan(MINUTE);
  for (const time of [day.createdAt, day.revokedAt])
    expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(MINUTE);
  expect((await command('token', 'list')).stdout).toContain(` ${day.createdAt.slice(0, 16).replace('T', ' ')} `);
});

test.each([
  ['infinity', 'valid'],
  ['-infinity', 'expired'],
  ['290000-01-01', 'valid'],
  ['4000-01-01 BC', 'expired'],
])('a token that an operator lets expire at %s is %s', async (time, state) => {
  const token = await withTokens((tokens) => tokens.create({ name: 'odd', scopes: SCOPES, expiresAt: null }));
  await database.query('UPDATE tokens SET expires_at = $1, created_at = $1', [time]);
  const [found] = await withTokens((tokens) => tokens.list());
  expect(found && tokenState(found)).toBe(state);
  const service = await start({}, { databaseUrl: database.url });
  const { status } = await service.agent.get('/plants').set('Authorization', `Bearer ${token}`);
  expect(status).toBe(state === 'valid' ? 200 : 401);
  expect((await command('token', 'list')).stdout).toMatch(new RegExp(`^odd +${state} `, 'm'));
  const [row] = JSON.parse((await command('token', 'list', '--json')).stdout);
  expect(row).toMatchObject({ name: 'odd', state });
  await database.query('UPDATE tokens SET revoked_at = $1', [time]);
  expect((await command('token', 'list')).stdout).toMatch(/^odd +revoked /m);
});
