import type { Pool, PoolClient } from 'pg';
import { BULK_LOCK_TIMEOUT, endWithClient } from './database.ts';
import { classifyDatabaseError } from './database-error.ts';
import { isPooled } from './database-url.ts';
import { startSilenceTimeout, stopSilenceTimeout } from './silence-timeout.ts';

/** Runs statements. */
export type Statements = {
  /** @returns the rows, with int8 values as text */
  query: <Row extends object>(sql: string, values?: unknown[]) => Promise<Row[]>;
};

/** `reserve`: a connection of its own, which keeps temporary tables and an open transaction between statements. */
export type PoolStatements = Statements & {
  /** Whether there is no pooler. Through a pooler, a reserved connection keeps its state only within a transaction. */
  hasSessions: boolean;
  /** Begins a transaction on a reserved connection. */
  begin: string;
  /** `release` closes the connection, which drops temporary tables and rolls back an open transaction. */
  reserve: () => Promise<Statements & { release: () => void }>;
  /** The same statements, until `cut` is aborted, which closes the connections in use. */
  until: (cut: AbortSignal | undefined) => PoolStatements;
};

type PoolStatementsOptions = {
  pool: Pool;
  /** Called when an idle connection breaks. */
  onConnectionLost: (error: Error) => void;
};

/**
 * Sends each statement on a free connection of the pool. For imports, because Prisma makes several copies of their long
 * parameters. `close` closes the pool without waiting for statements, which may take a minute: they are rejected as if
 * the connection were lost. It is idempotent, and resolves once the pool is closed.
 */
export const createPoolStatements = ({
  pool,
  onConnectionLost,
}: PoolStatementsOptions): PoolStatements & { connectionsInUse: () => number; close: () => Promise<void> } => {
  const busy = new Set<PoolClient>();
  const prepared = new WeakSet<PoolClient>();
  const statementTimeout = pool.options.connectionTimeoutMillis ?? 0;
  const hasSessions = !isPooled(pool.options.connectionString);
  // The time limits of the role are the shorter ones of other requests.
  const begin = hasSessions
    ? 'BEGIN'
    : `BEGIN; SET LOCAL statement_timeout = ${statementTimeout}; SET LOCAL lock_timeout = ${BULK_LOCK_TIMEOUT}`;
  let closed: Promise<void> | undefined;
  pool.on('error', onConnectionLost);

  const acquire = async (cut: AbortSignal | undefined) => {
    cut?.throwIfAborted();
    const client = closed ? undefined : await pool.connect();
    if (!client || closed || cut?.aborted) {
      client?.release(true);
      throw cut?.reason ?? new Error('Connection terminated: the pool is closed');
    }
    const close = () => void client.end();
    busy.add(client);
    cut?.addEventListener('abort', close);
    const release = (isClosed = false) => {
      busy.delete(client);
      cut?.removeEventListener('abort', close);
      client.release(isClosed);
    };
    if (hasSessions && !prepared.has(client)) await endWithClient(client);
    prepared.add(client);
    return { client, release };
  };

  const createStatements = (cut?: AbortSignal): PoolStatements => ({
    // Not `pool.query`, which closes the connection if PostgreSQL rejects the statement, for example because an id is taken.
    query: async <Row extends object>(sql: string, values: unknown[] = []) => {
      const { client, release } = await acquire(cut);
      let isClosed = false;
      try {
        if (hasSessions) return (await client.query<Row>(sql, values)).rows;
        await client.query(begin);
        const { rows } = await client.query<Row>(sql, values);
        await client.query('COMMIT');
        return rows;
      } catch (error) {
        // This error says more than that of the rollback, which fails if the connection is lost.
        if (!hasSessions) await client.query('ROLLBACK').catch(() => {});
        // PostgreSQL is about to close the connection, which the next statement must not get meanwhile.
        isClosed = classifyDatabaseError(error) === 'interrupted';
        throw error;
      } finally {
        release(isClosed);
      }
    },
    hasSessions,
    begin,
    reserve: async () => {
      const { client, release } = await acquire(cut);
      // Between statements it may be silent for as long as the client of an import is.
      stopSilenceTimeout(client);
      return {
        query: async <Row extends object>(sql: string, values: unknown[] = []) => {
          startSilenceTimeout(client, statementTimeout);
          try {
            return (await client.query<Row>(sql, values)).rows;
          } finally {
            stopSilenceTimeout(client);
          }
        },
        release: () => release(true),
      };
    },
    until: createStatements,
  });

  return {
    ...createStatements(),
    connectionsInUse: () => busy.size,
    close: () => {
      if (!closed) {
        closed = pool.end();
        for (const client of busy) void client.end();
      }
      return closed;
    },
  };
};
