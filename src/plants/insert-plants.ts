import { type Database, parsedOnce, waitForLocks } from '../database/database.ts';
import { isLockTimeout, isRowRefusal } from '../database/database-error.ts';
import { StoreError } from '../errors.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { KeyedRequest } from '../idempotency/keyed-request.ts';
import { byteaArray, type StoredResponses } from '../idempotency/stored-responses.ts';
import { idTaken, type NewPlant } from './plant.ts';

/** A plant to store. `keyed`: its request, if that has an Idempotency-Key. */
export type PlantToStore = NewPlant & { keyed?: KeyedRequest | undefined };

/** Undefined: stored. */
type Outcome = undefined | Error;

type InsertOptions = {
  database: Database;
  isDistributed: () => Promise<boolean>;
  responses: StoredResponses;
  /** The error of a write. */
  toError: (error: unknown) => Promise<Error>;
};

/** Stores plants in one statement that skips those whose id is taken. */
export const createInsertPlants = ({ database, isDistributed, responses, toError }: InsertOptions) => {
  const insertPlain = async (plants: readonly NewPlant[], maxWait?: number): Promise<Outcome[]> => {
    const firsts = firstsById(plants);
    const statement = insertStatement(firsts, await isDistributed(), maxWait);
    const rows = await database.$queryRaw<{ id: bigint }[]>(statement);
    const stored = new Set(rows.map(({ id }) => id));
    // Of several plants with the same id, the first takes it.
    return plants.map(({ id }) => (stored.delete(id) ? undefined : idTaken(id)));
  };

  const insertKeyed = async (plants: readonly PlantToStore[], maxWait?: number): Promise<Outcome[]> => {
    const statement = keyedInsertStatement(plants, responses.expiry, maxWait);
    const keys = plants.flatMap(({ keyed }) => keyed ?? []);
    return toKeyedOutcomes(plants, await responses.send<KeyedPlaces>(statement, keys));
  };

  /**
   * Each has the same outcome as if they were stored one after another. Never rejects.
   * @param maxWait see `waitForLocks`
   */
  const insertPlants = async (plants: readonly PlantToStore[], maxWait?: number): Promise<Outcome[]> => {
    try {
      const insert = plants.some(({ keyed }) => keyed) ? insertKeyed : insertPlain;
      return await insert(plants, maxWait);
    } catch (error) {
      // On their own, so that a row that PostgreSQL rejects fails alone, and a locked one holds up no other.
      const middle = plants.length >> 1;
      const hasWaitedBriefly = maxWait !== undefined && isLockTimeout(error) && !(await isDistributed());
      if ((isRowRefusal(error) || hasWaitedBriefly) && middle > 0)
        return [
          ...(await insertPlants(plants.slice(0, middle), maxWait)),
          ...(await insertPlants(plants.slice(middle), maxWait)),
        ];
      const failure = await toError(error);
      return plants.map(() => failure);
    }
  };

  return insertPlants;
};

/** The first plant of each id, sorted by it, so that concurrent statements with the same ids do not deadlock. */
export const firstsById = (plants: readonly NewPlant[]): NewPlant[] => {
  const firsts = new Map<bigint, NewPlant>();
  for (const plant of plants) if (!firsts.has(plant.id)) firsts.set(plant.id, plant);
  return [...firsts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
};

/** The names of the statements; see `createDatabase`. */
const INSERT_PLANT = Prisma.raw('/* insert_plant */');
const INSERT_PLANTS = Prisma.raw('/* insert_plants */');

/** Stores plants with distinct ids whose id is free, and returns the ids of those that it stored. */
const insertStatement = (plants: readonly NewPlant[], isDistributed: boolean, maxWait?: number): Prisma.Sql => {
  // For one row, PostgreSQL takes 0.05 ms less for VALUES. From arrays, Citus would collect the rows on the coordinator first (ten
  // times slower).
  if (isDistributed || (plants.length === 1 && maxWait === undefined)) {
    const rows = plants.map(({ id, name, tag }) => Prisma.sql`(${id}, ${name}, ${tag ?? null})`);
    return Prisma.sql`${plants.length === 1 ? INSERT_PLANT : Prisma.empty}
      INSERT INTO plants (id, name, tag) VALUES ${Prisma.join(rows)} ON CONFLICT (id) DO NOTHING RETURNING id`;
  }
  const { ids, names, tags } = toArrays(plants);
  return Prisma.sql`${maxWait === undefined ? INSERT_PLANTS : Prisma.empty}
    INSERT INTO plants (id, name, tag) SELECT * FROM unnest(${ids}::bigint[], ${names}::text[], ${tags}::text[])
    WHERE ${waitForLocks(maxWait)} ON CONFLICT (id) DO NOTHING RETURNING id`;
};

/** The statuses that are stored for a creation. */
const STATUS = { created: 200, taken: 400 } as const;
/** Instead of a status: the key came with another request. */
const REUSED = 0;

/** Places in the batch, from 1, separated by commas; behind that of a known key a colon and the status. */
type KeyedPlaces = { created: string | null; known: string | null };

/**
 * Stores plants and the responses of those that have a key, in this order, and both sorted, so that concurrent statements do not
 * deadlock. Of a new key that occurs several times the first is stored. So is the first plant of an id whose key is new, which is
 * not decided before, because the plants of known keys may have been deleted since.
 */
const keyedInsertStatement = (plants: readonly PlantToStore[], expiry: Prisma.Sql, maxWait?: number): Prisma.Sql => {
  const { ids, names, tags } = toArrays(plants);
  const keys = byteaArray(plants.map(({ keyed }) => keyed?.key));
  const fingerprints = byteaArray(plants.map(({ keyed }) => keyed?.fingerprint));
  const seen = new Set<string>();
  const repeats = plants.map(({ keyed }) => keyed !== undefined && seen.size === seen.add(keyed.key).size);
  // Citus has no keys.
  const { label, plannedEachTime } = parsedOnce('insert_keyed', maxWait !== undefined);
  return Prisma.sql`${label}
    WITH given AS (
      SELECT * FROM unnest(${keys}::bytea[], ${fingerprints}::bytea[], ${ids}::bigint[], ${names}::text[], ${tags}::text[],
        ${`{${repeats}}`}::bool[]) WITH ORDINALITY AS given (key, fingerprint, id, name, tag, is_repeated, place)
      WHERE ${waitForLocks(maxWait)}
    ), known AS (
      SELECT place, CASE WHEN responses.fingerprint = given.fingerprint THEN status ELSE ${REUSED}::int END AS status
      FROM given JOIN idempotency_keys AS responses USING (key)
      WHERE expires_at > now() AND ${plannedEachTime}
    ), fresh AS (
      SELECT * FROM given WHERE NOT is_repeated AND place NOT IN (SELECT place FROM known)
    ), firsts AS (
      SELECT DISTINCT ON (id) id, name, tag, place FROM fresh ORDER BY id, place
    ), inserted AS (
      INSERT INTO plants (id, name, tag) SELECT id, name, tag FROM firsts ON CONFLICT (id) DO NOTHING RETURNING id
    ), created AS (
      SELECT place FROM firsts JOIN inserted USING (id)
    ), stored AS (
      INSERT INTO idempotency_keys (key, fingerprint, status, expires_at)
      SELECT key, fingerprint,
        CASE WHEN place IN (SELECT place FROM created) THEN ${STATUS.created}::int ELSE ${STATUS.taken}::int END, ${expiry}
      FROM fresh WHERE key IS NOT NULL ORDER BY key
    )
    SELECT (SELECT string_agg(place::text, ',') FROM created) AS created,
      (SELECT string_agg(concat(place, ':', status), ',') FROM known) AS known`;
};

const toKeyedOutcomes = (plants: readonly PlantToStore[], { created, known }: KeyedPlaces): Outcome[] => {
  const places = new Set(created?.split(','));
  const statuses = new Map(known?.split(',').map((text) => text.split(':') as [string, string]));
  /** Whether the plant of a new key was created, and for which request. */
  const firsts = new Map<string, { fingerprint: string; isCreated: boolean }>();
  return plants.map(({ id, keyed }, index) => {
    const place = String(index + 1);
    const first = keyed && firsts.get(keyed.key);
    const status = statuses.get(place);
    if (status === String(REUSED) || (first && first.fingerprint !== keyed?.fingerprint))
      return new StoreError('keyReused');
    const isCreated =
      first?.isCreated ?? (status === undefined ? places.has(place) : status === String(STATUS.created));
    if (first || status !== undefined) keyed?.onReplay();
    else if (keyed) firsts.set(keyed.key, { fingerprint: keyed.fingerprint, isCreated });
    return isCreated ? undefined : idTaken(id);
  });
};

/** Plants as arrays of columns, in PostgreSQL's notation (manual §8.15.6): Prisma would spend more time on the elements. */
export const toArrays = (plants: readonly NewPlant[]) => ({
  ids: `{${plants.map(({ id }) => id)}}`,
  names: textArray(plants.map(({ name }) => name)),
  tags: textArray(plants.map(({ tag }) => tag)),
});

export const textArray = (texts: (string | undefined)[]): string =>
  `{${texts.map((text) => (text === undefined ? 'NULL' : `"${text.replace(/[\\"]/g, '\\$&')}"`))}}`;
