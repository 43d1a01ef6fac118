import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { propertyRuns } from '../support/property-runs.ts';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService();

type Plant = { name: string; tag?: string };
type Operation =
  | { method: 'POST' | 'PUT'; id: string; body: Plant }
  | { method: 'PATCH'; id: string; body: { name?: string; tag?: string | null } }
  | { method: 'GET' | 'DELETE'; id: string };

const id = fc.constantFrom(
  '-9223372036854775808',
  '-9223372036854775807',
  '0',
  '9223372036854775806',
  '9223372036854775807',
);
const text = fc.constantFrom('', 'Fir', 'fir', 'Tanne "Ö" \\ %_', '🌲', 'null', '\u2028');
const plant = fc.record({ name: text, tag: text }, { requiredKeys: ['name'] });
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ method: fc.constant('POST'), id, body: plant }),
  fc.record({ method: fc.constant('PUT'), id, body: plant }),
  fc.record({
    method: fc.constant('PATCH'),
    id,
    body: fc.record({ name: text, tag: fc.option(text) }, { requiredKeys: [] }),
  }),
  fc.record({ method: fc.constantFrom('GET', 'DELETE'), id }),
);

const send = (operation: Operation) => {
  if (operation.method === 'POST')
    return service.post(`{"id":${operation.id},${JSON.stringify(operation.body).slice(1)}`);
  const method = operation.method.toLowerCase() as 'get' | 'put' | 'patch' | 'delete';
  const request = service.request(method, `/plants/${operation.id}`);
  if (!('body' in operation)) return request;
  const mediaType = method === 'patch' ? 'application/merge-patch+json' : 'application/json';
  return request.set('Content-Type', mediaType).send(JSON.stringify(operation.body));
};

/** @returns the response to expect if these plants are stored; updates the plants accordingly */
const expected = (plants: Map<string, Plant>, operation: Operation): [number, string | number] => {
  const { method, id } = operation;
  const stored = plants.get(id);
  if (method === 'POST') {
    if (stored) return [400, 1004];
    plants.set(id, operation.body);
    return [200, JSON.stringify(operation.body)];
  }
  if (!stored) return [404, 1201];
  if (method === 'GET') return [200, `{"id":${id},${JSON.stringify(stored).slice(1)}`];
  if (method === 'DELETE') {
    plants.delete(id);
    return [204, ''];
  }
  const { tag, ...changed } = {
    ...(method === 'PATCH' && stored),
    ...('body' in operation && operation.body),
  } as Plant;
  const plant = typeof tag === 'string' ? { name: changed.name, tag } : { name: changed.name };
  plants.set(id, plant);
  return [200, JSON.stringify(plant)];
};

test('any sequence of operations gives the same responses and the same plants as a simple map', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
      await service.database.query('TRUNCATE plants');
      const plants = new Map<string, Plant>();
      for (const operation of operations) {
        const { status, text: answer } = await send(operation);
        const outcome = status >= 400 ? JSON.parse(answer).error : answer;
        expect([operation, status, outcome]).toEqual([operation, ...expected(plants, operation)]);
      }
      const ordered = [...plants].sort(([a], [b]) => (BigInt(a) < BigInt(b) ? -1 : 1));
      const list = ordered.map(([id, plant]) => `{"id":${id},${JSON.stringify(plant).slice(1)}`);
      expect((await service.request('get', '/plants')).text).toBe(`[${list}]`);
    }),
    { numRuns: propertyRuns(60) },
  );
});
