import type { NewPlant } from './plant.ts';
import { OutcomeUnknownError, OverloadedError } from './plant-errors.ts';
import type { Outcome } from './store-batch.ts';

export type GroupCommitLimits = {
  /** Batches under way at once; each takes a connection. */
  batches: number;
  /** Plants in a batch, and the bytes that they take up. */
  batchPlants: number;
  batchBytes: number;
  /** Plants that wait, and the bytes that they take up; past either, a plant is refused at once. */
  queuePlants: number;
  queueBytes: number;
  /** How long a plant waits for its outcome, in ms. */
  deadline: number;
};

type GroupCommitOptions = {
  store: (plants: NewPlant[]) => Promise<Outcome[]>;
  limits: GroupCommitLimits;
};

/** A plant on its way from the request to its outcome. */
type Entry = {
  plant: NewPlant;
  bytes: number;
  isAbandoned: () => boolean;
  state: 'queued' | 'sent' | 'settled';
  settle: (outcome: Outcome) => void;
};

/** What an entry takes up besides its text, about; in bytes. */
const ENTRY_OVERHEAD = 500;

/**
 * Stores plants that arrive together in one transaction: one statement, one round trip, one flush to disk. Those that
 * arrive while batches are under way wait, and make up the next. No timer holds a batch back: a lone plant leaves at once.
 */
export const createGroupCommit = ({ store, limits }: GroupCommitOptions) => {
  let queue: Entry[] = [];
  let queueBytes = 0;
  let batchesUnderWay = 0;
  let leaving = false;

  /**
   * Stores a plant; it is on disk when the promise is fulfilled. One that `isAbandoned` is dropped, if it has not left.
   * @throws {PlantIdTakenError} {OverloadedError} {OutcomeUnknownError} what PostgreSQL threw
   */
  const create = (plant: NewPlant, isAbandoned = () => false): Promise<void> =>
    new Promise((resolve, reject) => {
      const bytes = ENTRY_OVERHEAD + 2 * (plant.name.length + (plant.tag?.length ?? 0));
      const isTooMuch = queue.length > 0 && queueBytes + bytes > limits.queueBytes;
      if (isTooMuch || queue.length >= limits.queuePlants) {
        reject(new OverloadedError('Too many plants wait to be stored.'));
        return;
      }
      const settle = (outcome: Outcome) => {
        if (entry.state === 'settled') return;
        entry.state = 'settled';
        clearTimeout(timer);
        if (outcome) reject(outcome);
        else resolve();
      };
      const entry: Entry = { plant, bytes, isAbandoned, state: 'queued', settle };
      const timer = setTimeout(() => settle(deadlineError(entry)), limits.deadline);
      queue.push(entry);
      queueBytes += bytes;
      leaveSoon();
    });

  /** At the end of this turn of the event loop, so that what still arrives in it leaves together. */
  const leaveSoon = () => {
    if (leaving || queue.length === 0 || batchesUnderWay === limits.batches) return;
    leaving = true;
    setImmediate(leave);
  };

  const leave = async () => {
    leaving = false;
    const batch = takeBatch();
    if (batch.length > 0) {
      batchesUnderWay++;
      leaveSoon();
      const outcomes = await store(batch.map(({ plant }) => plant));
      batchesUnderWay--;
      for (const [index, entry] of batch.entries()) entry.settle(outcomes[index]);
    }
    leaveSoon();
  };

  const takeBatch = (): Entry[] => {
    const batch: Entry[] = [];
    let batchBytes = 0;
    let taken = 0;
    for (const entry of queue) {
      if (batch.length === limits.batchPlants || (taken > 0 && batchBytes + entry.bytes > limits.batchBytes)) break;
      taken++;
      queueBytes -= entry.bytes;
      if (entry.state === 'settled') continue;
      if (entry.isAbandoned()) {
        entry.settle(new OverloadedError('Its client went away.'));
        continue;
      }
      entry.state = 'sent';
      batchBytes += entry.bytes;
      batch.push(entry);
    }
    queue = queue.slice(taken);
    return batch;
  };

  return { create };
};

const deadlineError = ({ state }: Entry) =>
  state === 'sent'
    ? new OutcomeUnknownError('The database did not answer in time.')
    : new OverloadedError('The plant waited too long to be stored.');
