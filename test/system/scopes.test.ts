import { describe, expect, test } from '@jest/globals';
import { runProgram } from '../support/run-program.ts';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService();

let nextId = 1;
const store = async (token: string) => {
  const id = nextId++;
  const { status, body, headers } = await service.post({ id, name: 'Fir' }, { Authorization: `Bearer ${token}` });
  return { status, code: body.error, challenge: headers['www-authenticate'], row: await service.stored(String(id)) };
};

const refused = {
  status: 403,
  code: 1102,
  challenge: 'Bearer realm="plants", error="insufficient_scope", scope="plants:write"',
  row: undefined,
};

const createToken = (...words: string[]) =>
  runProgram(['token', 'create', ...words], { DATABASE_URL: service.database.url });

describe('a token created on the command line', () => {
  test('without --scope has both scopes and may write', async () => {
    const { stdout } = await createToken('--name', 'both');
    expect(await store(stdout.trim())).toMatchObject({ status: 200, row: { name: 'Fir' } });
    const [row] = await service.database.query("SELECT scopes FROM tokens WHERE name = 'both'");
    expect(row?.scopes).toEqual(['plants:read', 'plants:write']);
  });

  test('with --scope plants:read may not write: 403, code 1102, no row', async () => {
    const { stdout } = await createToken('--name', 'reader', '--scope', 'plants:read');
    expect(await store(stdout.trim())).toEqual(refused);
  });

  test('with an unknown scope is not created', async () => {
    for (const scope of ['plants:delete', 'plants:*', '*', '', 'PLANTS:WRITE']) {
      const { code, stdout } = await createToken('--name', 'none', '--scope', scope);
      expect([code, stdout]).toEqual([2, '']);
    }
    expect(await service.database.query("SELECT 1 FROM tokens WHERE name = 'none'")).toEqual([]);
  });
});

test.each([
  ['no scope', []],
  ['a prefix of the scope', ['plants:writ']],
  ['the scope in another case', ['Plants:Write']],
  ['several scopes in one string', ['plants:read plants:write']],
  ['a pattern', ['plants:*']],
])('a token with %s in the database: 403, code 1102, no row', async (name, scopes) => {
  const token = await service.tokens.create({ name, scopes: scopes as never, expiresAt: null });
  expect(await store(token)).toEqual(refused);
});

test('a scope in the request is ignored', async () => {
  const token = await service.tokens.create({ name: 'asks', scopes: ['plants:read'], expiresAt: null });
  const { status, body } = await service.agent
    .post('/plants?scope=plants:write')
    .set({ Authorization: `Bearer ${token}`, Scope: 'plants:write', 'Content-Type': 'application/json' })
    .send('{"id":1000,"name":"Fir","scope":"plants:write"}');
  expect([status, body.error]).toEqual([403, 1102]);
  expect(await service.stored('1000')).toBeUndefined();
});

test('a token in the query, the body or a cookie (RFC 6750 §2.2, §2.3): 401, code 1100', async () => {
  const answers = [
    await service.agent.post(`/plants?access_token=${service.token}`).send({ id: 1001, name: 'Fir' }),
    await service.agent.post('/plants').type('form').send({ access_token: service.token, id: 1001, name: 'Fir' }),
    await service.agent.post('/plants').set('Cookie', `access_token=${service.token}`).send({ id: 1001, name: 'Fir' }),
  ];
  expect(answers.map(({ status, body }) => [status, body.error])).toEqual(Array(3).fill([401, 1100]));
  expect(await service.stored('1001')).toBeUndefined();
});
