import { setTimeout } from 'node:timers/promises';

const INTERVAL = 20;

/**
 * Asks until the answer is yes.
 * @throws after `deadline` ms
 */
export const poll = async (isSo: () => boolean | Promise<boolean>, deadline = 20_000): Promise<void> => {
  const startedAt = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAt > deadline) throw new Error(`not so within ${deadline} ms: ${isSo}`);
    await setTimeout(INTERVAL);
  }
};
