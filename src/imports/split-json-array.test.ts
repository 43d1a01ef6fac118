import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readJsonArray } from './read-json.ts';

test('splits any elements as JSON.parse does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, '\t'), async (elements, indent) => {
      const rows = (await Array.fromAsync(readJsonArray(JSON.stringify(elements, null, indent)))).flat();
      expect(rows.map(({ line }) => line)).toEqual(elements.map((_, index) => index + 1));
    }),
  );
});

test('rejects any text that is not a JSON array before its first row', async () => {
  const pieces = fc.constantFrom('[', ']', '{', '}', ',', ':', '"', '\\', '"id"', '1', 'null', ' ', '\u00a0', '\n');
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 12 }), async (parts) => {
      const text = parts.join('');
      const rows = await Array.fromAsync(readJsonArray(text)).then(
        (turns) => turns.flat(),
        ({ code }) => code,
      );
      const parsed = ((): unknown => {
        try {
          return JSON.parse(text);
        } catch {
          return undefined;
        }
      })();
      if (Array.isArray(parsed)) expect(rows).toHaveLength(parsed.length);
      else expect(rows).toBe(1000);
    }),
    { numRuns: 3000 },
  );
});

test('ids are exact, and a million elements do not block the event loop', async () => {
  const text = `[{"id":9223372036854775807,"name":""}${',1'.repeat(1_000_000)}]`;
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  let count = 0;
  for await (const rows of readJsonArray(text)) {
    if (count === 0) expect(rows[0]).toEqual({ line: 1, plant: { id: 9223372036854775807n, name: '' } });
    count += rows.length;
    if (count >= 10_000) break;
  }
  clearInterval(timer);
  expect(longest).toBeLessThan(500);
});
