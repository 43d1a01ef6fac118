import type { BatchLimits, ObservedQueue } from '../batching/batch-queue.ts';
import { createLookUpQueue } from '../batching/queues.ts';
import type { TokenRepository } from './token-repository.ts';

/** How long no use is noted after a failure, in ms. */
const PAUSE = 60_000;

type UseNotesOptions = {
  tokens: Pick<TokenRepository, 'noteUse'>;
  limits: BatchLimits;
  watchQueue?: ((queue: ObservedQueue) => void) | undefined;
};

/**
 * Notes the use of a token apart from the request, one token after another on one connection. What fails is noted with a later
 * look-up.
 */
export const createUseNotes = ({ tokens, limits, watchQueue }: UseNotesOptions) => {
  const note = createLookUpQueue(async ([name = '']: string[]) => [await tokens.noteUse(name)], {
    limits: { ...limits, batches: 1, batchItems: 1 },
    watch: watchQueue,
  });
  let pausedUntil = 0;
  return (name: string): void => {
    if (performance.now() < pausedUntil) return;
    note(name).catch(() => {
      pausedUntil = performance.now() + PAUSE;
    });
  };
};
