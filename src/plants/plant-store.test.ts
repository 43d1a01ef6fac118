import { setTimeout } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { BatchLimits } from './batch-queue.ts';
import type { PlantRepository } from './plant-repository.ts';
import { createPlantStore } from './plant-store.ts';

const limits: BatchLimits = {
  batches: 1,
  batchItems: 10,
  batchBytes: 1_000_000,
  gatherTime: 0,
  queueItems: 10,
  queueBytes: 1_000_000,
  deadline: 1800,
};

test('a page that is asked for twice, as it has a long plant, has the time of one', async () => {
  const asked: string[] = [];
  const repository = {
    list: async () => {
      asked.push('list');
      await setTimeout(900);
      return [undefined];
    },
    search: async () => {
      asked.push('search');
      await setTimeout(1500);
      return { json: '[]', lastId: null, hasNext: false, isCut: false };
    },
  } as unknown as PlantRepository;
  const store = createPlantStore({
    repository,
    limits: { writes: limits, reads: limits, pages: limits, statements: limits },
  });
  await expect(store.list({ limit: 10 })).rejects.toMatchObject({ name: 'DatabaseTimeoutError' });
  expect(asked).toEqual(['list', 'search']);
  // Until it is answered, which nobody waits for any more.
  await setTimeout(700);
});
