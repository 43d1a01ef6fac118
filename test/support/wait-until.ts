import { setTimeout } from 'node:timers/promises';

/** How long a test waits for what should happen, in ms: less than a test may take, which then says what it waited for. */
const PATIENCE = 45_000;
const POLL_INTERVAL = 20;

/** Polls until something is so. @throws {Error} after 45 s, with what it waited for */
export const waitUntil = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const deadline = performance.now() + PATIENCE;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`waited ${PATIENCE} ms in vain for ${what}`);
    await setTimeout(POLL_INTERVAL);
  }
};
