/** The requests of a key so far, and the time until its window ends, in ms. */
export type Total = { requests: number; endsIn: number };

type Add = (key: string, requests: number) => Promise<Total>;

/**
 * Batches the counting of requests: requests that arrive while an addition for their key is in progress are added
 * together afterwards.
 * @returns a function that counts one request and returns the total including it
 */
export const createBatchedCounter = (add: Add): ((key: string) => Promise<Total>) => {
  /** The next addition and the one in progress, by key. */
  const next = new Map<string, { size: number; total: Promise<Total> }>();
  const inProgress = new Map<string, Promise<unknown>>();

  const startBatch = (key: string) => {
    const addBatch = () => {
      next.delete(key);
      const adding = add(key, batch.size);
      const done: Promise<void> = adding.then(onAdded, onAdded);
      function onAdded() {
        if (inProgress.get(key) === done) inProgress.delete(key);
      }
      inProgress.set(key, done);
      return adding;
    };
    const batch = { size: 0, total: (inProgress.get(key) ?? Promise.resolve()).then(addBatch) };
    next.set(key, batch);
    return batch;
  };

  return async (key) => {
    const batch = next.get(key) ?? startBatch(key);
    batch.size += 1;
    const place = batch.size;
    const { requests, endsIn } = await batch.total;
    return { requests: requests - batch.size + place, endsIn };
  };
};
