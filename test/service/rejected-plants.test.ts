import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { SCOPES } from '../../src/tokens/token.ts';
import { runProgram } from '../support/run-program.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { startAsRole } from '../support/start-as-role.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestService, useTestServices } from '../support/use-test-service.ts';

const service = useTestService();
const start = useTestServices();
beforeAll(() => service.database.query("ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'Weed')"));
beforeEach(() => service.database.query("TRUNCATE plants; INSERT INTO plants VALUES (1, 'Fir')"));

const weed = { name: 'Weed' };
const withKey = { 'Idempotency-Key': 'weed' };
const post = ({ agent, token }: TestService, path: string, body: string, type = 'application/json') =>
  agent
    .post(path)
    .set({ Authorization: `Bearer ${token}`, 'Content-Type': type })
    .send(body);
const REJECTED = [400, { error: 1003, message: 'The database rejected the plant.' }];

test.each([
  ['POST', () => service.post({ id: 2, ...weed })],
  ['PUT', () => service.request('put', '/plants/1').send(weed)],
  ['PATCH', () => service.request('patch', '/plants/1').send(weed)],
  ['PATCH of many plants', () => service.request('patch', '/plants?id=1').send(weed)],
])(
  '%s: a plant that breaks a constraint of the operator is wrong, and no fault of the service',
  async (_what, send) => {
    const response = await send();
    expect([response.status, response.body]).toEqual(REJECTED);
    expect(await service.database.query('SELECT id, name FROM plants')).toEqual([{ id: '1', name: 'Fir' }]);
  },
);

testUnless(onCitus('keys are refused'), 'its Idempotency-Key is not kept', async () => {
  const response = await service.request('patch', '/plants/1').set(withKey).send(weed);
  expect([response.status, response.body]).toEqual(REJECTED);
  expect((await service.request('patch', '/plants/1').set(withKey).send({ tag: 'Abies' })).status).toBe(200);
});

test('the command line says what the database said, in one line', async () => {
  const { code, stderr } = await runProgram(['patch', JSON.stringify(weed), '--id', '1'], {
    DATABASE_URL: service.database.url,
  });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^The database rejected it: .*"no_weeds(_\d+)?"\.\n$/)]);
});

testUnless(
  onCitus('roles are of a cluster'),
  'a plant that a policy rejects is wrong, and no other of its import',
  async () => {
    await using stack = new AsyncDisposableStack();
    const { service: limited, query } = await startAsRole(start, stack);
    await query(`ALTER TABLE plants ENABLE ROW LEVEL SECURITY;
    CREATE POLICY all_plants ON plants USING (TRUE) WITH CHECK (name <> 'Weed')`);
    const token = await limited.tokens.create({ name: 'test', scopes: SCOPES, expiresAt: null });
    for (const headers of [{}, withKey]) {
      const response = await post({ ...limited, token }, '/plants', JSON.stringify({ id: 2, ...weed })).set(headers);
      expect([response.status, response.body]).toEqual(REJECTED);
    }
    const rows = ['Oak', 'Weed', 'Yew'].map((name, index) => JSON.stringify({ id: 10 + index, name })).join('\n');
    const imported = await post({ ...limited, token }, '/plants/import', rows, 'application/x-ndjson');
    expect(imported.body).toMatchObject({ created: 2, failed: 1, errors: [{ line: 2, id: 11, error: 1003 }] });
  },
);

testUnless(
  onCitus('it has no triggers'),
  'the fault of a trigger is not one of the plants or of the migrations',
  async () => {
    await using stack = new AsyncDisposableStack();
    stack.defer(
      async () => void (await service.database.query('DROP FUNCTION audit CASCADE; DROP TABLE IF EXISTS missing')),
    );
    await service.database.query(`
    CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
      IF NEW.name = ''Ivy'' THEN RAISE EXCEPTION ''no ivy'' USING ERRCODE = ''45000''; END IF;
      INSERT INTO missing VALUES (NEW.id); RETURN NEW; END';
    CREATE TRIGGER audit BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION audit()`);
    const ivy = await service.post({ id: 5, name: 'Ivy' });
    expect([ivy.status, ivy.body]).toEqual(REJECTED);
    const fir = await service.post({ id: 5, name: 'Fir' });
    expect([fir.status, fir.body.error]).toEqual([500, 1599]);
    const imported = await post(service, '/plants/import', 'id,name\n5,Fir\n', 'text/csv');
    expect([imported.status, imported.body.error]).toEqual([500, 1599]);
    // Not: that the role lacks a privilege that imports need.
    await service.database.query('CREATE TABLE missing (id bigint); ALTER FUNCTION audit() SET role = pg_monitor');
    const denied = await post(service, '/plants/import', 'id,name\n5,Fir\n', 'text/csv');
    expect(denied.body.message).toBe(imported.body.message);
  },
);

testUnless(
  onCitus('it has no triggers'),
  'a DELETE that a trigger rejects is 500, code 1599, since it brings no plant that could be wrong',
  async () => {
    await service.post({ id: 70, name: 'Kept' });
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => void (await service.database.query('DROP FUNCTION keep CASCADE')));
    await service.database.query(`
    CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''kept''; END';
    CREATE TRIGGER keep BEFORE DELETE ON plants FOR EACH ROW EXECUTE FUNCTION keep()`);
    for (const path of ['/plants/70', '/plants?id=70']) {
      const { status, body } = await service.request('delete', path);
      expect([path, status, body.error]).toEqual([path, 500, 1599]);
    }
  },
);
