import { expect, jest, test } from '@jest/globals';
import { createImportRepository } from './import-repository.ts';

test.each<[string, string[] | null, number]>([
  ['all rows', null, 1],
  ['some rows', ['1'], 1],
  // Nothing was added to the search index, so PostgreSQL had no reason to merge it.
  ['no row', [], 0],
])('reports that an import stored names if it stored %s', async (_rows, created, calls) => {
  const onStored = jest.fn();
  const repository = createImportRepository({
    shared: { query: async <Row>() => [{ created }] as Row[] },
    openSession: () => Promise.reject(new Error('not to be called')),
    onStored,
    onNewNames: () => {},
  });
  const writer = await repository.open({ onConflict: 'skip', dryRun: false, atomic: false });
  await writer.store([1n, 2n].map((id) => ({ line: Number(id), plant: { id, name: 'Fir' } })));
  expect(onStored).toHaveBeenCalledTimes(calls);
});
