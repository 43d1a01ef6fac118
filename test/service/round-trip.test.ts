import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { propertyRuns } from '../support/property-runs.ts';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService();

/** Any Unicode string that PostgreSQL can store: without U+0000. */
const storable = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom("'; DROP TABLE plants --", '\\', '%_'),
  )
  .map((text) => text.replaceAll('\0', ''));

const plant = fc.record(
  { id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), name: storable, tag: storable },
  { requiredKeys: ['id', 'name'] },
);

test('any int64 and any storable string are read back exactly as sent', async () => {
  await fc.assert(
    fc.asyncProperty(plant, async ({ id, ...rest }) => {
      await service.database.query('DELETE FROM plants WHERE id = $1', [String(id)]);
      const response = await service.post(`{"id":${id},${JSON.stringify(rest).slice(1)}`);
      expect(response.status).toBe(200);
      expect(JSON.parse(response.text)).toEqual(rest);
      expect(await service.stored(id)).toEqual({ id: String(id), name: rest.name, tag: rest.tag ?? null });
    }),
    { numRuns: propertyRuns(200) },
  );
});

test('any string with an unpaired surrogate or U+0000 is refused', async () => {
  const unstorable = fc
    .tuple(storable, fc.constantFrom('\0', '\ud800', '\udbff', '\udc00', '\udfff'), fc.constantFrom('', ' ', 'x'))
    .map(([before, wrong, after]) => `${before} ${wrong}${after}`);
  await fc.assert(
    fc.asyncProperty(unstorable, fc.constantFrom('name', 'tag'), async (text, field) => {
      const response = await service.post(JSON.stringify({ id: 1, name: 'x', [field]: text }));
      expect(response.body).toEqual({ error: 1003, message: expect.stringMatching(`^${field} must `) });
    }),
    { numRuns: propertyRuns(100) },
  );
});
