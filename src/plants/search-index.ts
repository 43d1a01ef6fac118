import type { Statements } from '../database/statements.ts';

/**
 * How long PostgreSQL may collect new names before they are merged into the search index, in ms, unless a fast import
 * merges them. A merge ends when the list is empty, so it goes on with the names that are stored meanwhile, a few at a time,
 * which is expensive. With 1 s instead, PostgreSQL takes 10 % more CPU per plant. With longer intervals, searches read a
 * longer list.
 */
const MERGE_INTERVAL = 4000;

/** Merges new names into the search index. @throws errors of PostgreSQL */
export const mergeNewNames = async (database: Statements): Promise<void> => {
  await database.query('SELECT merge_pending_names()');
};

type SearchIndexOptions = { database: Statements; onMergeFailed: (error: unknown) => void };

/** Merges new names into the search index in the background instead of in the batch that stores them. See record 0038. */
export const createSearchIndex = ({ database, onMergeFailed }: SearchIndexOptions) => {
  let timer: NodeJS.Timeout | undefined;
  let hasNewNames = false;
  let isStopped = false;
  let isMerging = false;

  const mergeLater = () => {
    timer = setTimeout(async () => {
      hasNewNames = false;
      isMerging = true;
      await mergeNewNames(database).catch((error: unknown) => {
        if (!isStopped) onMergeFailed(error);
      });
      isMerging = false;
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
    /**
     * To be called whenever a fast import has stored names. The next merge waits until it pauses, because it would not end
     * beside it. Until then, the import merges the list itself, when it exceeds the limit of its connection.
     */
    postpone: (): void => {
      if (!isMerging) timer?.refresh();
    },
    /** Starts no more merges. One in progress ends with its connection. */
    stop: (): void => {
      isStopped = true;
      clearTimeout(timer);
      timer = undefined;
    },
  };
};

export type SearchIndex = ReturnType<typeof createSearchIndex>;
