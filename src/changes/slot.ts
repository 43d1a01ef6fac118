import type { Client } from 'pg';
import { assertOwner } from '../database/check-databases.ts';
import { endWithClient, NO_TIME_LIMITS, withClient } from '../database/database.ts';
import { assertSession } from '../database/database-url.ts';
import { isDistributed } from '../database/distribution.ts';
import { OperationalError } from '../errors.ts';

export const PUBLICATION = 'plant_store';
/** By their object ids; 0: none. `isPublished`: with all changes. `position`: of the slot, in bytes, or `lost`; null: there is none. */
export type Facts = { table: number; publication: string | null; isPublished: boolean | null; position: string | null };
const FACTS = `
  SELECT coalesce(c.oid, 0) AS table, (SELECT concat_ws(' ', p.oid, r.oid, c.oid) FROM pg_publication AS p
      LEFT JOIN pg_publication_rel AS r ON prpubid = p.oid AND prrelid = c.oid WHERE pubname = $2) AS publication,
    CASE WHEN relreplident IN ('n', 'i') THEN FALSE ELSE (SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate
        AND to_jsonb(t) ->> 'rowfilter' IS NULL AND to_jsonb(t) -> 'attnames' @> '["name", "tag"]' IS NOT FALSE FROM pg_publication
      JOIN pg_publication_tables AS t USING (pubname) WHERE (pubname, schemaname, tablename) = ($2, nspname, relname)) END AS "isPublished",
    CASE wal_status WHEN 'lost' THEN 'lost' ELSE (confirmed_flush_lsn - '0/0')::text END AS position
  FROM (SELECT to_regclass('plants')) AS t (id) LEFT JOIN pg_class AS c ON c.oid = id LEFT JOIN pg_namespace AS n ON n.oid = relnamespace
    LEFT JOIN pg_replication_slots ON (slot_name, plugin, database) = ($1, 'pgoutput', current_database())`;
const CREATE = 'Create it with --create, and then export all plants again: earlier changes are not in it.';
const PROBLEMS_BY_CODE: Record<string, string> = {
  citus: 'Changes cannot be followed on Citus: each worker logs its own commits, and nothing orders those of several.',
  publication: `The publication ${PUBLICATION} lacks changes of plants. Set their REPLICA IDENTITY to DEFAULT, and drop it and the slot SLOT (--drop). ${CREATE}`,
  lost: `The slot SLOT is lost: PostgreSQL has removed what it needs (max_slot_wal_keep_size). Drop it with --drop. ${CREATE}`,
  wal_level: 'Changes need wal_level = logical. Set it as docs/how-to/follow-changes.md says, and restart PostgreSQL.',
  42501: 'The role needs REPLICATION (ALTER ROLE … REPLICATION), and for --create also CREATE on the database.',
  42704: `There is no slot SLOT. After a failover it may be gone. ${CREATE}`,
  23505: 'Another command is creating the publication. Try again.',
  42710: 'The slot SLOT belongs to another database or program. Choose another name, or try again if it is new.',
  53400: 'PostgreSQL has no free slot. Drop one that nobody needs, or raise max_replication_slots and restart it.',
  53300: 'PostgreSQL has no free connection. Stop another reader, or raise max_wal_senders or max_connections.',
  55000: 'The slot SLOT cannot be read now. On a standby, it may belong to the primary.',
  55006: 'The slot SLOT is in use. It has one reader at a time: stop the other, or create another slot.',
};
const problem = (code: string, slot: string, said = '', cause?: Error) =>
  new OperationalError(`${PROBLEMS_BY_CODE[code]?.replace('SLOT', slot)}${said}`, { cause });
/** @returns a sentence for an error of PostgreSQL that concerns the slot; others as they are */
export const explainSlotError = (error: Error & { code?: string }, slot: string): Error => {
  const { code, message } = (error.cause ?? error) as typeof error;
  const [known = code ?? ''] = (code && /wal_level|^publication(?=.* does not exist)/.exec(message)) || [];
  return known in PROBLEMS_BY_CODE ? problem(known, slot, ` PostgreSQL says: ${message}.`, error) : error;
};

/** Calls `use` with a session and what it knows. Waits 3 s for locks, less than the time until the next check. @throws {OperationalError} */
const withFacts = <Result>(url: string, slot: string, use: (client: Client, facts: Facts) => Promise<Result>) => {
  assertSession(url, 'Following changes');
  return withClient(url, async (client) => {
    await client.query(`${NO_TIME_LIMITS}; SET lock_timeout = '3s'`);
    if (await isDistributed(async (sql) => (await client.query(sql)).rows)) throw problem('citus', slot);
    return use(client, (await client.query<Facts>(FACTS, [slot, PUBLICATION])).rows[0] as Facts);
  }).catch((error) => Promise.reject(explainSlotError(error, slot)));
};

/** Creates what is missing; waits for the transactions that run now. @returns whether the slot was. @throws {OperationalError} */
export const createSlot = (url: string, slot: string): Promise<boolean> =>
  withFacts(url, slot, async (client, { publication, isPublished, position }) => {
    await endWithClient(client);
    await assertOwner(client);
    if (isPublished === false || (position && !isPublished)) throw problem('publication', slot);
    // Before the slot, because PostgreSQL reads the publication as it was at the time of each change.
    const verb = publication ? `ALTER PUBLICATION ${PUBLICATION} ADD` : `CREATE PUBLICATION ${PUBLICATION} FOR`;
    if (!isPublished) await client.query(`${verb} TABLE plants`);
    await client.query('SET lock_timeout = 0');
    if (position === null) await client.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [slot]);
    return position === null;
  });

export const dropSlot = (url: string, slot: string): Promise<unknown> =>
  withFacts(url, slot, async (client, { position }) => {
    if (position === null) throw problem('42704', slot);
    return client.query('SELECT pg_drop_replication_slot($1)', [slot]);
  });

/** @throws {OperationalError} there is no such slot, or nothing publishes the table, or not as `before` */
export const readSlot = (url: string, slot: string, before?: Facts): Promise<Facts> =>
  withFacts(url, slot, async (_client, facts) => {
    if (facts.position === null || facts.position === 'lost') throw problem(facts.position ?? '42704', slot);
    if (!facts.isPublished || (before && before.publication !== facts.publication)) throw problem('publication', slot);
    return facts;
  });
