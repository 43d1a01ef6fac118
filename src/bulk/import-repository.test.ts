import { expect, jest, test } from '@jest/globals';
import { createImportRepository } from './import-repository.ts';

const ids = Array.from({ length: 1000 }, (_, index) => BigInt(index));
const rows = ids.map((id) => ({ line: Number(id) + 1, plant: { id, name: 'Fir' } }));
const options = { onConflict: 'skip', dryRun: false, atomic: false } as const;

/** PostgreSQL created plants with these ids; null: with all. */
const start = (created: bigint[] | null) => {
  const query = async <Row>() => [{ created: created?.map(String) ?? null, fresh: ids.map(String) }] as Row[];
  const onManyNames = jest.fn();
  const repository = createImportRepository({
    shared: { query },
    openSession: async () => ({ query, close: async () => {} }),
    onManyNames,
    onNewNames: () => {},
  });
  return { repository, onManyNames };
};

test.each([
  ['all rows', null, rows, 1],
  ['half of the rows', ids.slice(0, 500), rows, 1],
  // Few names, or none, were added to the search index, so PostgreSQL may not have merged it.
  ['a few rows', ids.slice(0, 499), rows, 0],
  ['all of a few rows', null, rows.slice(0, 100), 0],
])('reports that an import is fast if it stored %s: %#', async (_rows, created, sent, calls) => {
  const { repository, onManyNames } = start(created);
  const writer = await repository.open(options);
  await writer.store(sent);
  expect(onManyNames).toHaveBeenCalledTimes(calls);
});

test.each([
  [{ onConflict: 'replace' } as const, ids, 1],
  // A row that is replaced by the same plant adds no name.
  [{ onConflict: 'replace' } as const, [], 0],
  [{ dryRun: true }, ids, 0],
])('and in a session: %j', async (changed, created, calls) => {
  const { repository, onManyNames } = start(created);
  const writer = await repository.open({ ...options, ...changed });
  await writer.store(rows);
  expect(onManyNames).toHaveBeenCalledTimes(calls);
});
