import cluster from 'node:cluster';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { assertWorkersReady } from './ask-workers.ts';

/** A worker that is not ready because of REASON, at least not at first. */
const WORKER = `
  import { answerReadiness } from '${new URL('ask-workers.ts', import.meta.url)}';
  const { REASON: message, RECOVERS } = process.env;
  let asked = 0;
  answerReadiness(async () => {
    asked += 1;
    if (message && !(RECOVERS && asked > 1)) throw { kind: 'databaseUnreachable', message };
  });
  process.send({});`;

afterEach(async () => {
  for (const worker of Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)) {
    worker.process.kill('SIGKILL');
    await once(worker, 'exit');
  }
});

const startWorkers = async (reasons: string[], environment: object = {}) => {
  // With --eval, Node.js does not run the file.
  cluster.setupPrimary({ exec: import.meta.filename, execArgv: ['--input-type=module', '--eval', WORKER] });
  for (const REASON of reasons) await once(cluster.fork({ REASON, ...environment }), 'message');
};

test('workers are ready if one of them is', async () => {
  await startWorkers(['no database', '']);
  await expect(assertWorkersReady()).resolves.toBeUndefined();
});

test('workers are ready at once if one of them is and another is stuck', async () => {
  await startWorkers(['', '']);
  Object.values(cluster.workers ?? {})[0]?.process.kill('SIGSTOP');
  await expect(Promise.race([assertWorkersReady(), setTimeout(2000, 'late')])).resolves.toBeUndefined();
});

test('workers that are not ready have the reason of one that responds', async () => {
  await startWorkers(['no database', 'no database']);
  Object.values(cluster.workers ?? {})[0]?.process.kill('SIGSTOP');
  await expect(assertWorkersReady()).rejects.toMatchObject({ kind: 'databaseUnreachable', message: 'no database' });
});

test('a worker is asked again each time', async () => {
  await startWorkers(['no database'], { RECOVERS: 'true' });
  await expect(assertWorkersReady()).rejects.toMatchObject({ kind: 'databaseUnreachable' });
  await expect(assertWorkersReady()).resolves.toBeUndefined();
});

test('no workers are not ready', async () => {
  await expect(assertWorkersReady()).rejects.toMatchObject({ kind: 'overloaded', message: 'No worker responds.' });
});
