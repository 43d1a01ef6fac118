import { StoreError } from '../errors.ts';

/**
 * Slots for operations that last as long as their clients want, such as imports. One holder, such as a token, gets at most half
 * of them, so that the rest stay free for others.
 * @param what the operations, for messages
 */
export const createSlots = (count: number, what: string) => {
  const held = new Map<string, number>();
  let taken = 0;
  return {
    taken: (): number => taken,
    /** @returns a function that releases the slot; call it once. @throws {StoreError} 1500 */
    take: (holder: string): (() => void) => {
      const own = held.get(holder) ?? 0;
      if (taken >= count) throw new StoreError('overloaded', `Too many ${what} are in progress. Try again later.`);
      if (own >= Math.max(1, count >> 1))
        throw new StoreError('overloaded', `Too many ${what} of this token are in progress. Try again later.`);
      held.set(holder, own + 1);
      taken += 1;
      return () => {
        taken -= 1;
        const left = (held.get(holder) ?? 0) - 1;
        if (left > 0) held.set(holder, left);
        else held.delete(holder);
      };
    },
  };
};

/** Runs an import or export as one span of a trace. `note` records numbers of rows by name, and how it ended. */
export type BulkTrace = <Result>(
  name: 'import' | 'export',
  run: (note: (values: Record<string, number | string>) => void) => Promise<Result>,
) => Promise<Result>;

/** Without a tracer. */
export const untraced: BulkTrace = (_name, run) => run(() => {});
