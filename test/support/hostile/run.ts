import { setMaxListeners } from 'node:events';
import type { Target } from './attack.ts';
import { floods, holdUps } from './attacks.ts';
import { uploadFloods } from './uploads.ts';

/**
 * Runs attacks against a target until it is killed: a separate process, since attacks keep the event loop busy.
 * Arguments: the target as JSON, then names of attacks.
 */
const [, , target = '', ...names] = process.argv;
const { signal } = new AbortController();
setMaxListeners(0, signal);
for (const [name, attack] of Object.entries({ ...floods, ...holdUps, ...uploadFloods })) {
  if (names.includes(name)) void attack(JSON.parse(target) as Target, signal);
}
