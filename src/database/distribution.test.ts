import { expect, test } from '@jest/globals';
import { createDistributionCheck } from './distribution.ts';

test('the database is asked once whether it is distributed, and again if it could not be asked', async () => {
  const answers = [new Error('away'), [1], [1]];
  const isDistributed = createDistributionCheck(async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? [];
  });
  await expect(isDistributed()).rejects.toThrow('away');
  expect([await isDistributed(), await isDistributed()]).toEqual([true, true]);
  expect(answers).toEqual([]);
});
