import { beforeAll, expect, test } from '@jest/globals';
import { lockPlants } from '../support/lock-plants.ts';
import { patientLookUps } from '../support/test-service.ts';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService({ REQUEST_TIMEOUT: '2' }, { requestLimits: patientLookUps });
const count = (query = '') => service.request('get', `/plants/count${query}`);

beforeAll(() =>
  service.database.query(
    "INSERT INTO plants SELECT id, 'Fir ' || id, CASE WHEN id % 2 = 0 THEN 'Abies' END FROM generate_series(1, 100) AS id",
  ),
);

test.each([
  ['', 100],
  ['?tag=Abies', 50],
  ['?tag=', 0],
  ['?q=fIR%201', 12],
  ['?q=Fir%201&tag=Abies', 6],
  ['?q=%25', 0],
])('GET /plants/count%s counts the plants that match: %i', async (query, expected) => {
  const { status, text } = await count(query);
  expect([status, text]).toEqual([200, `{"count":${expected}}`]);
});

test.each(['?limit=1', '?q=', '?tag=a&tag=b', '?id=1'])('%s is 400, code 1005', async (query) => {
  expect(await count(query)).toMatchObject({ status: 400, body: { error: 1005 } });
});

test('needs plants:read', async () => {
  expect((await service.agent.get('/plants/count')).status).toBe(401);
  const token = await service.tokens.create({ name: 'writer', scopes: ['plants:write'], expiresAt: null });
  const { status } = await service.agent.get('/plants/count').set('Authorization', `Bearer ${token}`);
  expect(status).toBe(403);
});

test('has the time of a search: 503, code 1500 or 1505', async () => {
  const unlock = await lockPlants(service.database.url);
  const { status, body } = await count();
  await unlock();
  expect([status, [1500, 1505].includes(body.error)]).toEqual([503, true]);
});
