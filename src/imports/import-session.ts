import { once } from 'node:events';
import type { PoolClient, QueryResult } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { createPool, endWithClient, NO_TIME_LIMITS, withClient } from '../database/database.ts';
import { toCitusWriteError } from '../database/database-error.ts';
import { isPooled } from '../database/database-url.ts';
import { setSilenceTimeout, socketOf } from '../database/silence-timeout.ts';
import { StoreError } from '../errors.ts';
import type { PlantRow } from './import.ts';

export type ImportDatabase = {
  url: string;
  /** How long opening a connection may take, in ms. */
  connectTimeout: number;
  /** Called when an idle connection breaks. */
  onConnectionLost: (error: Error) => void;
};

type SessionsOptions = ImportDatabase & {
  /** The maximum number of sessions. */
  count: number;
  /** How long a statement may wait for each lock, in ms. */
  lockTimeout: number;
  /** How long a statement may take to end after it was cancelled, or a commit after its import, in ms. Then the connection is closed. */
  grace: number;
  /** See `QUICK_TIMEOUT`. */
  quickTimeout?: number;
};

/**
 * The time limit of statements that take milliseconds, the first ones and each COPY, in ms: `setSilenceTimeout` makes 20 s of it. A
 * PostgreSQL that hangs keeps its connections open.
 */
const QUICK_TIMEOUT = 16_000;

const NEEDS_SESSION =
  'Imports need DIRECT_URL, a URL of PostgreSQL without a pooler, which the operator of the service has not set.';

/** The connections of imports. They are not those of requests, so that no request waits for one. */
export const createImportSessions = (options: SessionsOptions) => {
  const { url, connectTimeout, onConnectionLost, count, lockTimeout, grace, quickTimeout = QUICK_TIMEOUT } = options;
  const pool = createPool({ url, connectTimeout, connections: count, statementTimeout: 0, lockTimeout });
  const inUse = new Set<PoolClient>();
  const prepared = new WeakSet<PoolClient>();
  let closed: Promise<void> | undefined;
  pool.on('error', onConnectionLost);

  const connect = async (): Promise<PoolClient> => {
    const client = closed ? undefined : await pool.connect();
    if (!client || closed) {
      client?.release(true);
      throw new Error('Connection terminated: the pool is closed');
    }
    inUse.add(client);
    return client;
  };

  const prepare = async (client: PoolClient) => {
    if (prepared.has(client)) return;
    await endWithClient(client);
    await client.query(NO_TIME_LIMITS);
    await client.query(`SET lock_timeout = ${lockTimeout}`);
    prepared.add(client);
  };

  /**
   * Opens a connection to PostgreSQL that one import has for itself. Its statements have no time limit, but the quick ones.
   * @param ending ends the session: its statement is cancelled. It is aborted if the connection is lost.
   * @throws the reason of `ending`; errors of PostgreSQL
   */
  const open = async (ending: AbortController) => {
    const { signal } = ending;
    const client = await connect();
    let isRunning = false;
    let isFirst = true;
    let timer: NodeJS.Timeout | undefined;
    const onLost = (error?: Error) => ending.abort(error ?? new Error('Connection terminated unexpectedly'));
    const cancel = () => {
      timer = setTimeout(() => socketOf(client).destroy(), grace);
      const { processID } = client as PoolClient & { processID: number };
      // Citus has a second function, which takes a bigint.
      const cancelStatement = 'SELECT pg_cancel_backend($1::int)';
      const timeouts = { connectionTimeoutMillis: connectTimeout };
      if (isRunning) withClient(url, (other) => other.query(cancelStatement, [processID]), timeouts).catch(() => {});
    };
    const release = ({ isReusable }: { isReusable: boolean }): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      client.off('error', onLost).off('end', onLost);
      inUse.delete(client);
      client.release(!isReusable || signal.aborted);
    };
    const run = async <Result>(send: () => Promise<Result>, { isQuick }: { isQuick: boolean }): Promise<Result> => {
      signal.throwIfAborted();
      isRunning = true;
      setSilenceTimeout(client, isQuick ? quickTimeout : 0);
      try {
        return await send();
      } finally {
        setSilenceTimeout(client, 0);
        isRunning = false;
      }
    };
    client.on('error', onLost).on('end', onLost);
    signal.addEventListener('abort', cancel);
    try {
      // Also if nothing is to be prepared: a signal that is aborted already calls no listener, so nothing would end a statement.
      await run(() => prepare(client), { isQuick: true });
    } catch (error) {
      release({ isReusable: false });
      throw error;
    }
    return {
      lockTimeout,
      /** int8 values are text. On Citus, `rowCount` of an INSERT is how many rows it was given. */
      query: <Row extends object>(
        sql: string | { name: string; text: string },
        values: unknown[] = [],
      ): Promise<Pick<QueryResult<Row>, 'rows' | 'rowCount'>> => {
        const isQuick = isFirst;
        isFirst = false;
        return run(() => client.query<Row>(sql, values), { isQuick });
      },
      /** @param sql COPY … FROM STDIN, for the columns line, id, name and tag */
      copy: (sql: string, rows: readonly PlantRow[]): Promise<unknown> =>
        run(
          () => {
            const stream = client.query(copyFrom(sql));
            // It may fail again after the first error, which `once` reports: it was not told to end.
            stream.on('error', () => {});
            stream.end(toCopyText(rows));
            return once(stream, 'finish');
          },
          { isQuick: true },
        ),
      /**
       * Nothing cancels it once it is sent. If the import is ended meanwhile, the connection is closed after `grace`, because a commit
       * may wait for a replica for ever.
       * @throws {OutcomeUnknownError} the connection was lost meanwhile
       */
      commit: async (): Promise<void> => {
        signal.throwIfAborted();
        await client.query('COMMIT').catch((error) => {
          throw toCitusWriteError(error);
        });
      },
      /** Gives the connection back, or closes it, which drops temporary tables and rolls back an open transaction. */
      release,
    };
  };

  return {
    open,
    /** @throws {StoreError} 1501 if connections go through a pooler, which lends one for a transaction only */
    assertSessions: (): void => {
      if (isPooled(url)) throw new StoreError('databaseUnreachable', NEEDS_SESSION);
    },
    inUse: (): number => inUse.size,
    /** Closes the connections, also those in use, whose statements fail as if the connection were lost. Idempotent. */
    close: (): Promise<void> => {
      closed ??= pool.end();
      for (const client of inUse) void client.end();
      return closed;
    },
  };
};

export type ImportSessions = ReturnType<typeof createImportSessions>;

export type ImportSession = Awaited<ReturnType<ImportSessions['open']>>;

/** Rows in the text format of COPY (manual, COPY, File Formats). */
const toCopyText = (rows: readonly PlantRow[]): string => {
  let text = '';
  for (const { line, plant } of rows)
    text += `${line}\t${plant.id}\t${escapeText(plant.name)}\t${plant.tag === undefined ? '\\N' : escapeText(plant.tag)}\n`;
  return text;
};

const SPECIAL = /[\\\n\r\t]/;
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const escapeText = (text: string): string =>
  SPECIAL.test(text) ? text.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character] as string) : text;
