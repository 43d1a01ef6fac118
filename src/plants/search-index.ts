import type { Database } from '../database/database.ts';

/**
 * How long PostgreSQL may collect new names before they are merged into the search index, in ms. At full load a merge takes
 * about 0.1 s of CPU. Shorter intervals cost more CPU; with longer ones, searches read a longer list.
 */
const MERGE_INTERVAL = 1000;

type SearchIndexOptions = { database: Pick<Database, '$queryRaw'>; onMergeFailed: (error: unknown) => void };

/** Merges new names into the search index in the background instead of in the batch that stores them. See record 0038. */
export const createSearchIndex = ({ database, onMergeFailed }: SearchIndexOptions) => {
  let timer: NodeJS.Timeout | undefined;
  let hasNewNames = false;
  let isStopped = false;
  let merging: Promise<void> | undefined;

  const merge = async () => {
    hasNewNames = false;
    await database.$queryRaw`SELECT merge_pending_names()`;
  };

  const mergeLater = () => {
    timer = setTimeout(async () => {
      merging = merge().catch(onMergeFailed);
      await merging;
      timer = undefined;
      if (hasNewNames && !isStopped) mergeLater();
    }, MERGE_INTERVAL);
    timer.unref();
  };

  return {
    /** To be called after names were stored. */
    noteNewNames: (): void => {
      hasNewNames = true;
      if (timer === undefined && !isStopped) mergeLater();
    },
    /** Merges what is left now. @throws errors of PostgreSQL */
    mergeNow: merge,
    /** Waits for a merge in progress, and starts no other. */
    stop: async (): Promise<void> => {
      isStopped = true;
      clearTimeout(timer);
      await merging;
    },
  };
};

export type SearchIndex = ReturnType<typeof createSearchIndex>;
