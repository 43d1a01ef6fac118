import type { Database } from '../database/database.ts';
import { setLockTimeout } from '../database/lock-timeout.ts';
import { Prisma } from '../generated/prisma/client.ts';
import {
  byteaArray,
  isNewKey,
  type KeptAnswer,
  type KeptAnswerRepository,
  toReplay,
} from '../idempotency/kept-answer-repository.ts';
import type { KeyedRequest } from '../idempotency/keyed-request.ts';
import { toArrays } from './insert-plants.ts';
import type { NewPlant, PlantChange, StoredPlant } from './plant.ts';
import { PlantChangedError, PlantIdTakenError, PlantUnknownError } from './plant-errors.ts';
import { isPlant, LOCK_TIMEOUT, setTo } from './plant-repository.ts';
import { storeTogether } from './store-batch.ts';

/** A plant to store, and the request that has an Idempotency-Key. */
export type KeyedPlant = NewPlant & { request?: KeyedRequest | undefined };

/** The statuses that are kept. `missing`: there is no such plant; `unmet`: it does not meet the preconditions. */
const STATUS = { done: 200, deleted: 204, taken: 400, missing: 404, unmet: 412 } as const;
/** Instead of a status: the key came with another request. */
const REUSED = 0;

type KeyedChange = {
  id: bigint;
  /** Undefined: delete the plant. */
  change: PlantChange | undefined;
  /** Makes the change only if the plant is stored like this. Undefined: whatever it is. */
  expected: StoredPlant | undefined;
  lockTimeout: number | undefined;
};

/**
 * Writes plants and keeps the answers to requests with an Idempotency-Key, in one statement. It locks plants in the order of
 * their ids, then keys in theirs, so that concurrent statements do not deadlock.
 */
export const createKeyedPlantRepository = ({ database, kept }: { database: Database; kept: KeptAnswerRepository }) => {
  /**
   * Of several plants with the same id, stores the first whose key is new. That is not decided before, because the plants of
   * known keys may have been deleted since.
   * @returns places in the batch, from 1
   */
  const insert = async (plants: readonly KeyedPlant[], lockTimeout: number) => {
    const { ids, names, tags } = toArrays(plants);
    const keys = byteaArray(plants.map(({ request }) => request?.key));
    const fingerprints = byteaArray(plants.map(({ request }) => request?.fingerprint));
    const [row] = await database.$queryRaw<[{ created: string | null; known: string | null }]>`
      WITH given AS (
        SELECT * FROM unnest(${keys}::bytea[], ${fingerprints}::bytea[], ${ids}::bigint[], ${names}::text[], ${tags}::text[])
          WITH ORDINALITY AS given (key, fingerprint, id, name, tag, place)
      ), known AS (
        SELECT place, CASE WHEN answers.fingerprint = given.fingerprint THEN status ELSE ${REUSED}::int END AS status
        FROM given JOIN idempotency_keys AS answers USING (key) WHERE expires_at > now()
      ), fresh AS (
        SELECT * FROM given WHERE place NOT IN (SELECT place FROM known)
      ), firsts AS (
        SELECT DISTINCT ON (id) id, name, tag, place FROM ${setLockTimeout(lockTimeout)}, fresh ORDER BY id, place
      ), stored AS (
        INSERT INTO plants (id, name, tag) SELECT id, name, tag FROM firsts ON CONFLICT (id) DO NOTHING RETURNING id
      ), created AS (
        SELECT place FROM firsts JOIN stored USING (id)
      ), kept AS (
        INSERT INTO idempotency_keys (key, fingerprint, status, expires_at)
        SELECT key, fingerprint,
          CASE WHEN place IN (SELECT place FROM created) THEN ${STATUS.done}::int ELSE ${STATUS.taken}::int END, ${kept.expiry}
        FROM fresh WHERE key IS NOT NULL ORDER BY key
      )
      SELECT (SELECT string_agg(place::text, ',') FROM created) AS created,
        (SELECT string_agg(concat(place, ':', status), ',') FROM known) AS known`;
    return {
      created: new Set(row.created?.split(',')),
      known: new Map(row.known?.split(',').map((text) => text.split(':') as [string, string])),
    };
  };

  const createTogether = async (plants: readonly KeyedPlant[], lockTimeout: number) => {
    const requests = plants.flatMap(({ request }) => request ?? []);
    const { created, known } = await kept.send(requests, () => insert(plants, lockTimeout));
    return plants.map(({ id, request }, index): undefined | Error => {
      const place = String(index + 1);
      const status = known.get(place);
      if (request && status !== undefined) return replayCreation(id, request, Number(status));
      if (request) request.answer = 'kept';
      return created.has(place) ? undefined : new PlantIdTakenError(id);
    });
  };

  return {
    /** As `create` of the plant repository, for plants of which some have a request. */
    create: (plants: readonly KeyedPlant[], lockTimeout = LOCK_TIMEOUT): Promise<(undefined | Error)[]> =>
      storeTogether(plants, (batch) => createTogether(batch, lockTimeout)),

    /**
     * Changes or deletes a plant.
     * @returns the plant, if it is the answer; undefined if the plant is not `expected`
     * @throws {PlantUnknownError} {PlantChangedError} {KeyReusedError} {AnswerTooLongError}
     */
    change: async (request: KeyedRequest, { id, change, expected, lockTimeout = LOCK_TIMEOUT }: KeyedChange) => {
      const where = Prisma.sql`${isPlant(id, expected)} AND ${isNewKey}`;
      const locks = setLockTimeout(lockTimeout);
      const statement = change
        ? Prisma.sql`UPDATE plants SET ${setTo(change)} FROM ${locks} WHERE ${where} RETURNING 1 AS done, ${answerTo(change)}`
        : Prisma.sql`DELETE FROM plants USING ${locks} WHERE ${where} RETURNING 1 AS done, NULL::json AS answer`;
      const answer = await kept.changeOnce(request, {
        change: statement,
        changed: change ? STATUS.done : STATUS.deleted,
        // With an expected plant, the change is tried again.
        unchanged: expected ? undefined : STATUS.missing,
        lockTimeout,
      });
      return answer && toPlant(id, change, answer);
    },

    /** Keeps that a change failed because of its condition. @returns as `change`, if an answer was kept meanwhile */
    keepFailure: async (
      request: KeyedRequest,
      { id, change }: Pick<KeyedChange, 'id' | 'change'>,
      error: PlantUnknownError | PlantChangedError,
    ): Promise<StoredPlant> => {
      const unchanged = error instanceof PlantUnknownError ? STATUS.missing : STATUS.unmet;
      const answer = await kept.changeOnce(request, { changed: STATUS.done, unchanged, lockTimeout: LOCK_TIMEOUT });
      return toPlant(id, change, answer as KeptAnswer);
    },

    unlessInUse: kept.unlessInUse,
  };
};

export type KeyedPlantRepository = ReturnType<typeof createKeyedPlantRepository>;

const replayCreation = (id: bigint, request: KeyedRequest, status: number): undefined | Error => {
  try {
    toReplay(request, { status, answer: null, isSame: status !== REUSED });
  } catch (error) {
    return error as Error;
  }
  return status === STATUS.done ? undefined : new PlantIdTakenError(id);
};

/** The plant after a change, or null if the request has all of it. */
const answerTo = ({ name, tag }: PlantChange) =>
  name !== undefined && tag !== undefined
    ? Prisma.sql`NULL::json AS answer`
    : Prisma.sql`json_build_object('name', plants.name, 'tag', plants.tag) AS answer`;

/** @throws {PlantUnknownError} {PlantChangedError} */
const toPlant = (id: bigint, change: PlantChange | undefined, { status, answer }: KeptAnswer): StoredPlant => {
  if (status === STATUS.missing) throw new PlantUnknownError(id);
  if (status === STATUS.unmet) throw new PlantChangedError(id);
  const { name = '', tag } = (answer ?? change ?? {}) as PlantChange;
  return { id, name, tag: tag ?? undefined };
};
