import { type Database, parsedOnce, waitForLocks } from '../database/database.ts';
import { isDeadlock, isRuleViolation, toCitusWriteError, toWriteError } from '../database/database-error.ts';
import { createDistributionCheck } from '../database/distribution.ts';
import { StoreError } from '../errors.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { KeyedRequest } from '../idempotency/keyed-request.ts';
import { bytea, createStoredResponses, isOfKeys } from '../idempotency/stored-responses.ts';
import { changeStatement, type ManyRequest, selectMany, setTo } from './change-many.ts';
import { createInsertPlants, textArray } from './insert-plants.ts';
import {
  type PlantChange,
  type Preconditions,
  plantRejected,
  plantUnknown,
  preconditionFailed,
  type StoredPlant,
} from './plant.ts';
import { contentBytes, createPlantPages } from './plant-pages.ts';

export type ChangeRequest = {
  id: bigint;
  change: PlantChange | 'delete';
  preconditions?: Preconditions | undefined;
  /** Set if it has an Idempotency-Key. */
  keyed?: KeyedRequest | undefined;
};

/** How often a change is made again because the plant changed between two statements. */
const MAX_ATTEMPTS = 5;
/** The maximum size of a name and tag in a batch of reads, in bytes: 64 of them are 1 MiB. */
const MAX_SHARED_READ_BYTES = 16_384;

/** The statuses that are stored for a change. `missing`: there is no such plant; `unmet`: it does not meet the preconditions. */
const STATUS = { changed: 200, deleted: 204, missing: 404, unmet: 412 } as const;

type Row = { id: bigint; name: string; tag: string | null };

/**
 * The stored response to a request. `answer`: what it has besides what the request has; null if nothing. `matches`: whether it was to the
 * same request; null if it is the response to this one.
 */
type KeyedRow = { status: number; answer: PlantChange | null; matches: boolean | null };

/** @param options `retention`: of the responses to requests with an Idempotency-Key, in ms */
export const createPlantRepository = ({ database, retention }: { database: Database; retention: number }) => {
  const responses = createStoredResponses({ database, retention });
  const isDistributed = createDistributionCheck((sql) => database.$queryRawUnsafe(sql));
  /**
   * The error of a write. On Citus, a worker may have committed a statement that fails. If the database cannot be asked, it may be Citus.
   * @param hasContent whether the request has a name or a tag, which a rule of the operator may reject
   */
  const toError = async (error: unknown, { hasContent }: { hasContent: boolean }): Promise<Error> => {
    if (hasContent && isRuleViolation(error) && !isOfKeys(error)) return plantRejected(error);
    return (await isDistributed().catch(() => true)) ? toCitusWriteError(error) : toWriteError(error);
  };

  /** @param statement see `plainStatement` */
  const changePlain = async (request: ChangeRequest, statement: Prisma.Sql): Promise<StoredPlant | undefined> => {
    const { id, change, preconditions = {} } = request;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const [changed] = await database.$queryRaw<Omit<Row, 'id'>[]>(statement);
      if (changed !== undefined) return change === 'delete' ? undefined : toStoredPlant({ id, ...changed });
      if (!areAny(preconditions)) throw plantUnknown(id);
      const [plant] = await database.$queryRaw<{ isMet: boolean }[]>`
        SELECT ${isPlant(id, preconditions)} AS "isMet" FROM plants WHERE id = ${id}`;
      if (plant === undefined) throw plantUnknown(id);
      if (!plant.isMet) throw preconditionFailed(id, preconditions);
      // The plant was created, or changed, since the statement looked for it: as if the request came only now.
    }
    // Or a trigger or a policy of the operator keeps it from being changed.
    throw new StoreError('overloaded', 'The plant kept changing; nothing was changed. Try again later.');
  };

  /**
   * Changes the plant and stores the response, unless one is stored already; returns a `KeyedRow`. Locks the plant first and then the
   * key, as statements that store plants do.
   */
  const keyedStatement = (
    keyed: KeyedRequest,
    { id, change, preconditions = {} }: ChangeRequest,
    maxWait?: number,
  ): Prisma.Sql => {
    const [key, fingerprint] = [bytea(keyed.key), bytea(keyed.fingerprint)];
    const isNew = Prisma.sql`NOT EXISTS (SELECT FROM known)`;
    const where = Prisma.sql`${isPlant(id, preconditions)} AND ${isNew} AND ${waitForLocks(maxWait)}`;
    const changed =
      change === 'delete'
        ? Prisma.sql`DELETE FROM plants WHERE ${where} RETURNING ${STATUS.deleted}::int AS status, NULL::json AS answer`
        : Prisma.sql`
          UPDATE plants SET ${setTo(change)} WHERE ${where} RETURNING ${STATUS.changed}::int AS status, ${contentOf(change)} AS answer`;
    // The lock looks at the latest version: the change may have waited for a transaction that deleted the plant.
    const unchanged = Prisma.sql`
      CASE WHEN ${areAny(preconditions)} AND EXISTS (SELECT FROM plants WHERE id = ${id} AND ${waitForLocks(maxWait)} FOR KEY SHARE)
        THEN ${STATUS.unmet}::int ELSE ${STATUS.missing}::int END`;
    return Prisma.sql`
      WITH known AS (
        SELECT status, answer, fingerprint = ${fingerprint}::bytea AS matches
        FROM idempotency_keys WHERE key = ${key}::bytea AND expires_at > now()
      ), changed AS (${changed}), stored AS (
        INSERT INTO idempotency_keys (key, fingerprint, status, answer, expires_at)
        SELECT ${key}::bytea, ${fingerprint}::bytea, coalesce(status, ${unchanged}), answer, ${responses.expiry}
        FROM (SELECT) AS request LEFT JOIN changed ON TRUE
        WHERE ${isNew}
        RETURNING status, answer
      )
      SELECT status, answer, matches FROM known UNION ALL SELECT status, answer, NULL FROM stored`;
  };

  return {
    /** Whether the table of plants is distributed. Asks the database only once. */
    isDistributed,

    insert: createInsertPlants({
      database,
      isDistributed,
      responses,
      toError: (error) => toError(error, { hasContent: true }),
    }),

    /** @returns the existing plants by id; 'long' for one that is too long for a batch: use `find` */
    findByIds: async (ids: bigint[]): Promise<Map<bigint, StoredPlant | 'long'>> => {
      const { label, plannedEachTime } = parsedOnce('find_plants', await isDistributed());
      // The name is null if the plant is too long.
      const rows = await database.$queryRaw<(Omit<Row, 'name'> & { name: string | null })[]>`${label}
        SELECT id, CASE WHEN shown THEN name::text END AS name, CASE WHEN shown THEN tag::text END AS tag
        FROM (
          SELECT *, ${contentBytes} <= ${MAX_SHARED_READ_BYTES} AS shown
          FROM plants WHERE id = ANY(${`{${ids}}`}::bigint[]) AND ${plannedEachTime}
        ) AS found`;
      return new Map(rows.map(({ id, name, tag }) => [id, name === null ? 'long' : toStoredPlant({ id, name, tag })]));
    },

    /** @returns the plant, regardless of its size. @throws {StoreError} 1201 */
    find: async (id: bigint): Promise<StoredPlant> => {
      const [row] = await database.$queryRaw<Row[]>`SELECT id, name, tag FROM plants WHERE id = ${id}`;
      if (row === undefined) throw plantUnknown(id);
      return toStoredPlant(row);
    },

    /**
     * Changes or deletes a plant if it meets the preconditions.
     * @param maxWait see `waitForLocks`
     * @returns the plant as it is now, or as it was when the first request with the key changed it; undefined if it was deleted
     * @throws {StoreError} 1003 PostgreSQL rejected it; 1201, 1204, 1301, 1303 {OutcomeUnknownError} errors of
     *   PostgreSQL, if it has undone the statement
     */
    change: async (request: ChangeRequest, maxWait?: number): Promise<StoredPlant | undefined> => {
      const { keyed } = request;
      const statement = keyed
        ? keyedStatement(keyed, request, maxWait)
        : plainStatement(request, await isDistributed(), maxWait);
      try {
        if (!keyed) return await changePlain(request, statement);
        return toPlant(request, keyed, await responses.send<KeyedRow>(statement, [keyed]));
      } catch (error) {
        throw await toError(error, { hasContent: request.change !== 'delete' });
      }
    },

    /** Counts the plants that `changeMany` would change. */
    count: async (request: ManyRequest): Promise<number> => {
      const statement = Prisma.sql`SELECT count(*) FROM (${selectMany(request)}) AS chosen`;
      const [row] = await database.$queryRaw<[{ count: bigint }]>(statement);
      return Number(row.count);
    },

    /**
     * Changes or deletes many plants in one statement. Those that would stay as they are do not count and are not written.
     * @returns their number
     * @throws {StoreError} 1003 PostgreSQL rejected a plant {OutcomeUnknownError} errors of PostgreSQL, if it has undone the statement
     */
    changeMany: async (request: ManyRequest): Promise<number> => {
      const send = async () => database.$executeRaw(changeStatement(request, await isDistributed()));
      // The workers of Citus lock plants in any order, so of two such statements one may have to be sent again.
      const resend = (error: unknown) => (isDeadlock(error) ? send() : Promise.reject(error));
      return send()
        .catch(resend)
        .catch(async (error) => Promise.reject(await toError(error, { hasContent: request.change !== undefined })));
    },

    ...createPlantPages({ database, isDistributed }),
  };
};

export type PlantRepository = ReturnType<typeof createPlantRepository>;

/**
 * Changes or deletes a plant if it meets the preconditions. Its columns are cast, because PostgreSQL refuses a named statement whose
 * result changes its type.
 */
const plainStatement = (
  { id, change, preconditions = {} }: ChangeRequest,
  isDistributed: boolean,
  maxWait?: number,
): Prisma.Sql => {
  const { ifMatch, ifNoneMatch } = preconditions;
  const verb = change === 'delete' ? 'delete_plant' : 'update_plant';
  // A name for each text that `isPlant` has.
  const nameParts = [verb, ifMatch && 'if_match', ifNoneMatch === '*' ? 'if_none' : ifNoneMatch && 'if_none_match'];
  const { label, plannedEachTime } = parsedOnce(
    nameParts.filter(Boolean).join('_'),
    isDistributed || maxWait !== undefined,
  );
  const lockWait = waitForLocks(isDistributed ? undefined : maxWait);
  const where = Prisma.sql`${isPlant(id, preconditions)} AND ${plannedEachTime} AND ${lockWait}`;
  return change === 'delete'
    ? Prisma.sql`${label} DELETE FROM plants WHERE ${where} RETURNING 1`
    : Prisma.sql`${label} UPDATE plants SET ${setTo(change)} WHERE ${where} RETURNING name::text, tag::text`;
};

const areAny = ({ ifMatch, ifNoneMatch }: Preconditions) => ifMatch !== undefined || ifNoneMatch !== undefined;

/** The bytes of a text. Not `convert_to`, which Citus refuses in a condition, because it is not immutable. */
const bytesOf = (column: Prisma.Sql) => Prisma.sql`replace(${column}, E'\\\\', E'\\\\\\\\')::bytea`;

const hash = Prisma.sql`
  sha256(${bytesOf(Prisma.sql`plants.name`)} || coalesce(E'\\\\x00'::bytea || ${bytesOf(Prisma.sql`plants.tag`)}, ''))`;

/** As `entityTag` computes it. */
const version = Prisma.sql`'"' || translate(encode(${hash}, 'base64'), '+/=', '-_') || '"'`;

/** The condition of a statement that changes or deletes a plant if it meets the preconditions. */
const isPlant = (id: bigint, { ifMatch, ifNoneMatch }: Preconditions): Prisma.Sql => {
  const conditions = [Prisma.sql`plants.id = ${id}`];
  if (ifMatch) conditions.push(Prisma.sql`${version} = ANY(${textArray(ifMatch)}::text[])`);
  if (ifNoneMatch === '*') conditions.push(Prisma.sql`${false}`);
  else if (ifNoneMatch) conditions.push(Prisma.sql`${version} <> ALL(${textArray(ifNoneMatch)}::text[])`);
  return Prisma.join(conditions, ' AND ');
};

/** The plant after a change, or null if the request has all of it. */
const contentOf = ({ name, tag }: PlantChange) =>
  name !== undefined && tag !== undefined
    ? Prisma.sql`NULL::json`
    : Prisma.sql`json_build_object('name', plants.name, 'tag', plants.tag)`;

/** @throws {StoreError} 1201, 1204, 1301 */
const toPlant = (request: ChangeRequest, keyed: KeyedRequest, { status, answer, matches }: KeyedRow) => {
  const { id, change, preconditions = {} } = request;
  if (matches === false) throw new StoreError('keyReused');
  if (matches) keyed.onReplay();
  if (status === STATUS.missing) throw plantUnknown(id);
  if (status === STATUS.unmet) throw preconditionFailed(id, preconditions);
  if (change === 'delete') return undefined;
  const { name = '', tag } = answer ?? change;
  return { id, name, tag: tag ?? undefined };
};

const toStoredPlant = ({ id, name, tag }: Row): StoredPlant => ({ id, name, tag: tag ?? undefined });
