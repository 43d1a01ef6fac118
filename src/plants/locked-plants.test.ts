import { expect, test } from '@jest/globals';
import { createLockedPlants } from './locked-plants.ts';

test('starts no attempt that would still wait for its lock at the deadline', async () => {
  const limits = {
    batches: 1,
    batchItems: 1,
    batchBytes: 1,
    gatherTime: 0,
    queueItems: 10,
    queueBytes: 10,
    deadline: 1000,
  };
  const locked = createLockedPlants({ limits, observe: () => undefined, lateError: () => new Error('late') });
  let left = 1100;
  const send = async () => {
    left -= 300;
    throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
  };
  const write = locked.run(1n, { share: send, send, bytes: 0, timeLeft: () => left });
  await expect(write).rejects.toThrow('Another transaction has locked the plant; nothing was changed.');
  expect(left).toBe(200);
});
