/** `POST /plants` with an Idempotency-Key in each request, and without. */
import { measureInRounds } from '../rounds.ts';
import type { Bench } from './bench.ts';
import { measurePost } from './posts.ts';

const CONNECTIONS = 64;

export const measureKeys = ({ options, store, signal }: Bench) => {
  const { rounds, seconds } = options;
  const tasks = [true, false].map((withKeys) => ({
    title: withKeys ? 'with keys' : 'without keys',
    measure: () => measurePost(store, { connections: CONNECTIONS, seconds, withKeys }),
  }));
  const title = `POST /plants with Idempotency-Key, connections: ${CONNECTIONS}`;
  return measureInRounds([{ title, tasks }], { rounds, signal });
};
