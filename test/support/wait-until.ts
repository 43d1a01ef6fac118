import { setTimeout } from 'node:timers/promises';

/**
 * How long to wait by default, in ms: less than a test may take, so that the test says what it waited for, and less than the time
 * limits of imports, locks and connections, which would end what a test waits for if nothing else did.
 */
const PATIENCE = 45_000;
const POLL_INTERVAL = 20;

type Options = {
  /** In ms. */
  patience?: number;
  /** More to say when time is up, such as a log. */
  explain?: () => string | Promise<string>;
};

/** Polls until a condition holds. @throws {Error} naming `what` when it still does not hold after `patience` */
export const waitUntil = async (
  what: string,
  holds: () => boolean | Promise<boolean>,
  { patience = PATIENCE, explain = () => '' }: Options = {},
): Promise<void> => {
  const deadline = performance.now() + patience;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${patience} ms for ${what}\n${await explain()}`.trim());
    await setTimeout(POLL_INTERVAL);
  }
};
