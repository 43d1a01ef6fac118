import cluster, { type Worker } from 'node:cluster';
import { on } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { type ErrorKind, StoreError } from '../errors.ts';

/** How long to wait for a worker's answer, in ms: less than Prometheus' default timeout of 10 s. */
const REPLY_TIMEOUT = 4000;

/** What the primary process asks its workers. The processes send each other no other messages. */
type Question = 'metrics' | 'readiness';

/** In a worker: answers a question of the primary process. */
export const answer = (question: Question, find: () => Promise<unknown>): void => {
  process.on('message', async (asked) => {
    if (asked !== question) return;
    // It may come while the worker still starts.
    const found = await Promise.resolve()
      .then(find)
      .catch(() => undefined);
    // The primary process may be gone.
    if (process.connected) process.send?.({ question, found }, () => {});
  });
};

/** The questions that a worker has not answered yet. More of them to a stuck worker would pile up in memory. */
const underWay: Record<Question, WeakMap<Worker, Promise<unknown>>> = {
  metrics: new WeakMap(),
  readiness: new WeakMap(),
};

const ask = async (worker: Worker, question: Question): Promise<unknown> => {
  worker.send(question, () => {});
  for await (const [reply] of on(worker, 'message')) if (reply.question === question) return reply.found;
  return undefined;
};

/** In the primary process. @returns for each worker what it has found, if it answers in time */
export const askWorkers = (question: Question): Promise<{ worker: Worker; found: unknown }>[] => {
  const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected()) as Worker[];
  return workers.map(async (worker) => {
    const pending = underWay[question];
    // Rejects if the worker fails meanwhile; never resolves if it dies.
    const asked =
      pending.get(worker) ??
      ask(worker, question)
        .catch(() => undefined)
        .finally(() => pending.delete(worker));
    pending.set(worker, asked);
    return { worker, found: await Promise.race([asked, setTimeout(REPLY_TIMEOUT, undefined, { ref: false })]) };
  });
};

const READY = 'ready';
type Reason = { kind: ErrorKind; message: string };

/** In a worker. */
export const answerReadiness = (assertReady: () => Promise<void>): void =>
  answer('readiness', () =>
    assertReady().then(
      () => READY,
      ({ kind, message }: StoreError): Reason => ({ kind, message }),
    ),
  );

/** In the primary process. @throws {StoreError} if no worker can handle requests */
export const assertWorkersReady = async (): Promise<void> => {
  const answers = askWorkers('readiness').map((answered) => answered.then(({ found }) => found));
  // One is enough, however long a stuck one takes.
  const ready = answers.map(async (found) => (await found) === READY || Promise.reject(new Error('Not ready')));
  if (await Promise.any(ready).catch(() => false)) return;
  const [reason] = (await Promise.all(answers)).filter((found): found is Reason => found !== undefined);
  throw new StoreError(reason?.kind ?? 'overloaded', reason?.message ?? 'No worker responds.');
};
