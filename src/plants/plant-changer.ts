import { type BatchLimits, OverloadedError } from '../batching/batch-queue.ts';
import type { StatementQueue } from '../batching/statement-queue.ts';
import { toWriteError } from '../database/database-error.ts';
import { startTimer } from '../database/within-time.ts';
import type { KeyedRequest } from '../idempotency/keyed-request.ts';
import type { KeyedPlantRepository } from './keyed-plant-repository.ts';
import type { LockedPlants } from './locked-plants.ts';
import { type PlantChange, type StoredPlant, textBytes } from './plant.ts';
import { PlantChangedError, PlantLockedError, PlantUnknownError } from './plant-errors.ts';
import type { PlantReader } from './plant-reader.ts';
import type { PlantRepository } from './plant-repository.ts';

/** Whether a stored plant meets the preconditions of a request. */
export type PlantCondition = (plant: StoredPlant) => boolean;

/** A request to change or delete a plant. */
type ChangeRequest = {
  id: bigint;
  /** Undefined: delete the plant. */
  change?: PlantChange | undefined;
  condition?: PlantCondition | undefined;
  /** Whether the client has disconnected. The change is then dropped unless it was already sent. */
  isAbandoned?: (() => boolean) | undefined;
  /** Set if it has an Idempotency-Key. */
  keyed?: KeyedRequest | undefined;
};

/** Sends a change. @returns undefined or false if the plant is not `expected`, or if there is none */
type Send<Result> = (expected?: StoredPlant, lockTimeout?: number) => Promise<Result | undefined | false>;

type PlantChangerOptions = {
  repository: Pick<PlantRepository, 'update' | 'delete'>;
  /** For requests with an Idempotency-Key. */
  keyedRepository: KeyedPlantRepository;
  changes: StatementQueue;
  locked: LockedPlants;
  find: PlantReader;
  /** `deadline`: for all statements of a change together. */
  limits: Pick<BatchLimits, 'deadline' | 'queueBytes'>;
};

/** @returns functions that change a plant if it meets the condition */
export const createPlantChanger = (options: PlantChangerOptions) => {
  const { repository, keyedRepository, changes, locked, find, limits } = options;

  let bytesInReads = 0;
  /** Reads the plant of a change, whose `bytes` the queue of reads does not count. */
  const findFor = async ({ id, isAbandoned }: ChangeRequest, bytes: number, timeLeft: number): Promise<StoredPlant> => {
    if (bytesInReads > 0 && bytesInReads + bytes > limits.queueBytes)
      throw new OverloadedError('Too many requests are waiting for the database.');
    bytesInReads += bytes;
    try {
      return await find(id, isAbandoned, timeLeft);
    } finally {
      bytesInReads -= bytes;
    }
  };

  /** Sends the change only if the plant meets the condition and has not changed since. Tries again if it has changed. */
  const sendIf = async <Result>(
    request: ChangeRequest,
    timeLeft: () => number,
    send: Send<Result>,
  ): Promise<Result> => {
    const { id, change, condition, isAbandoned } = request;
    const changeBytes = textBytes(change);
    while (timeLeft() > 0) {
      const expected = condition && (await findFor(request, changeBytes, timeLeft()));
      if (expected && !condition(expected)) throw new PlantChangedError(id);
      const sendNow = (lockTimeout?: number) =>
        send(expected, lockTimeout).catch((error: unknown) => {
          throw toWriteError(error);
        });
      const sendUnlocked = async () => {
        if (locked.isLocked(id)) throw new PlantLockedError();
        return sendNow();
      };
      const bytes = changeBytes + textBytes(expected);
      const share = () => changes({ send: sendUnlocked, bytes, timeout: timeLeft(), isAbandoned });
      const result = await locked.run(id, { share, send: sendNow, bytes, timeLeft, isAbandoned });
      if (result) return result;
      // Without a condition, no result means that there is no such plant; with one, that the plant has changed.
      if (!expected) throw new PlantUnknownError(id);
    }
    throw new OverloadedError('Too many concurrent changes to this plant.');
  };

  /** Makes a change unless an answer is kept for the key, which is found even if the plant no longer meets the condition. */
  const changeOnce = async (keyed: KeyedRequest, request: ChangeRequest): Promise<StoredPlant> => {
    const { id, change, isAbandoned } = request;
    const timeLeft = startTimer(limits.deadline);
    try {
      return await sendIf(request, timeLeft, (expected, lockTimeout) =>
        keyedRepository.unlessInUse(keyed, () => keyedRepository.change(keyed, { id, change, expected, lockTimeout })),
      );
    } catch (error) {
      const isUnmet = error instanceof PlantUnknownError || error instanceof PlantChangedError;
      if (!isUnmet || keyed.answer !== undefined) throw error;
      const keepFailure = () => keyedRepository.keepFailure(keyed, { id, change }, error);
      const send = () => keyedRepository.unlessInUse(keyed, keepFailure);
      return changes({ send, bytes: textBytes(change), timeout: timeLeft(), isAbandoned });
    }
  };

  return {
    /**
     * @returns the plant as it is now, or as it was when the first request with the key changed it
     * @throws {PlantUnknownError} {PlantChangedError} {OverloadedError} {OutcomeUnknownError} or any database error
     */
    update: (request: ChangeRequest & { change: PlantChange }): Promise<StoredPlant> => {
      const { id, change, keyed } = request;
      if (keyed) return changeOnce(keyed, request);
      return sendIf(request, startTimer(limits.deadline), (expected, lockTimeout) =>
        repository.update(id, change, expected, lockTimeout),
      );
    },
    /** @throws as `update` */
    delete: async (request: Omit<ChangeRequest, 'change'>): Promise<void> => {
      const { id, keyed } = request;
      if (keyed) await changeOnce(keyed, request);
      else
        await sendIf(request, startTimer(limits.deadline), (expected, lockTimeout) =>
          repository.delete(id, expected, lockTimeout),
        );
    },
  };
};
