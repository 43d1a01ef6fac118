import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { runProgram } from '../support/run-program.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService();
beforeAll(() => service.database.query("ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'Weed')"));
beforeEach(() => service.database.query("TRUNCATE plants; INSERT INTO plants VALUES (1, 'Fir')"));

const weed = { name: 'Weed' };
const withKey = { 'Idempotency-Key': 'weed' };
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
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^The database rejected it: .*"no_weeds"\.\n$/)]);
});
