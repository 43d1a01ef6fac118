/** What a key has come to, after requests were added to it, and when its window ends, in ms. */
export type Total = { requests: number; endsIn: number };

type Add = (key: string, requests: number) => Promise<Total>;

/**
 * Adds the requests of a key that arrive together at once: while some are being added, the others gather for the next time.
 * @returns a function that counts one request, and tells what its key had come to with it
 */
export const countTogether = (add: Add): ((key: string) => Promise<Total>) => {
  /** Those who gather, by key; and the end of what is under way before them. */
  const gathering = new Map<string, { size: number; total: Promise<Total> }>();
  const underWay = new Map<string, Promise<unknown>>();

  const gather = (key: string) => {
    const addGathered = () => {
      gathering.delete(key);
      const adding = add(key, batch.size);
      const done: Promise<void> = adding.then(letNextGo, letNextGo);
      function letNextGo() {
        if (underWay.get(key) === done) underWay.delete(key);
      }
      underWay.set(key, done);
      return adding;
    };
    const batch = { size: 0, total: (underWay.get(key) ?? Promise.resolve()).then(addGathered) };
    gathering.set(key, batch);
    return batch;
  };

  return async (key) => {
    const batch = gathering.get(key) ?? gather(key);
    batch.size += 1;
    const place = batch.size;
    const { requests, endsIn } = await batch.total;
    return { requests: requests - batch.size + place, endsIn };
  };
};
