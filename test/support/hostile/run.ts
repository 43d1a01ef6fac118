import { setMaxListeners } from 'node:events';
import type { Target } from './attack.ts';
import { attacks } from './attacks.ts';

/**
 * A process of its own, as the attacks keep its event loop busy: runs those named by its arguments, or all, against the
 * target on the first argument, until it is killed.
 */
const [, , target = '', ...names] = process.argv;
const { signal } = new AbortController();
setMaxListeners(0, signal);
for (const [name, attack] of Object.entries(attacks)) {
  if (names.length === 0 || names.includes(name)) void attack(JSON.parse(target) as Target, signal);
}
