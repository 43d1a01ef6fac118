import { PrismaPg } from '@prisma/adapter-pg';
import { Debug as clientNotes } from '@prisma/client/runtime/client';
import { Debug as adapterNotes, type SqlQuery } from '@prisma/driver-adapter-utils';
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient, type PoolConfig } from 'pg';
import { Prisma, PrismaClient } from '../generated/prisma/client.ts';
import {
  clarifyCode,
  isIdleEnd,
  isLockTimeout,
  isOutOfConnections,
  isRowRefusal,
  toConnectError,
} from './database-error.ts';
import { isPooled, sessionUrl } from './database-url.ts';
import { closeWhenSilent, setSilenceTimeout, socketOf } from './silence-timeout.ts';

export type Database = PrismaClient;

/** The longest time that a request waits for a connection to PostgreSQL, in ms, so that clients get a response within 2 s. */
export const CONNECT_TIMEOUT = 1500;
/** That of commands and of a start, in ms: several round trips to another continent, or behind a VPN. */
export const COMMAND_CONNECT_TIMEOUT = 10_000;

/** How long PostgreSQL may look for the next plant of an export, in ms. */
export const BULK_STATEMENT_TIMEOUT = 60_000;
/** How long a statement of an import may wait for a lock, in ms. */
export const BULK_LOCK_TIMEOUT = 60_000;
/** How long a connection is idle before its other end is asked whether it is still there, in ms. The default of Linux is two hours. */
const KEEP_ALIVE_DELAY = 10_000;
const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY };

type PoolOptions = {
  url: string;
  connections: number;
  /** How long opening a connection may take, in ms. */
  connectTimeout: number;
  /** The time limit of a statement, after which PostgreSQL cancels it, and of waiting for a free connection, in ms; 0: none. */
  statementTimeout: number;
  /** How long a statement may wait for each lock, in ms. By default what the role or the URL says. */
  lockTimeout?: number | undefined;
  /** Called after each attempt to open a connection. */
  onConnect?: ((error?: Error) => void) | undefined;
};

/** Opens a connection of its own, which the caller ends. @throws {DatabaseUnreachableError} */
export const openClient = async (url: string, options?: ClientConfig): Promise<Client> => {
  const timeouts = { connectionTimeoutMillis: COMMAND_CONNECT_TIMEOUT };
  const client = new Client({ connectionString: sessionUrl(url), ...timeouts, ...keepAlive, ...options });
  // A broken connection fails the query too. Without a listener, the event would end the process.
  client.on('error', () => {});
  await client.connect().catch((error) => {
    client.end().catch(() => {});
    throw toConnectError(error);
  });
  return client;
};

/** Calls `use` with such a connection, then ends it without waiting, because an unresponsive database does not close its end. */
export const withClient = async <Result>(
  url: string,
  use: (client: Client) => Promise<Result>,
  options?: ClientConfig,
): Promise<Result> => {
  const client = await openClient(url, options);
  return use(client).finally(() => {
    client.end().catch(() => {});
  });
};

/** How often PostgreSQL checks, while a statement runs or waits for a lock, whether its client is still connected, in ms. */
export const CLIENT_CHECK_INTERVAL = 5000;

/**
 * Makes PostgreSQL end a statement whose connection is closed. Only Linux, macOS and BSD support the setting; without it,
 * PostgreSQL notices a lost client when it sends the first row.
 */
export const endWithClient = async (client: ClientBase): Promise<void> => {
  await client.query(`SET client_connection_check_interval = ${CLIENT_CHECK_INTERVAL}`).catch(() => {});
};

/** Lifts the time limits of a role or database, which would end a long task. Some limits do not exist in older versions. */
export const NO_TIME_LIMITS = `
  SELECT set_config(name, '0', FALSE) FROM pg_settings
  WHERE name IN ('statement_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/** A connection must be open after this many intervals. */
const CONNECT_INTERVALS = 5;

/**
 * Opens its connection within `connectTimeout`. A period in which this process is too busy for its timers counts as
 * one interval, because opening a connection takes several round trips. Until then, errors state that no statement was sent.
 */
const clientWithin = (connectTimeout: number, onConnect: PoolOptions['onConnect']): typeof Client =>
  class extends Client {
    constructor(config?: ClientConfig) {
      // The pool passes its own timeout, which is also that of waiting until another statement is done.
      super({ ...config, connectionTimeoutMillis: 0 });
      // A broken connection also rejects the statement. Without a listener, the event would crash the process.
      this.on('error', () => {});
      this.connection.on('errorMessage', clarifyCode);
      let intervals = 0;
      const timer = setInterval(() => {
        intervals += 1;
        if (intervals === CONNECT_INTERVALS) socketOf(this).destroy(new Error('timeout expired'));
      }, connectTimeout / CONNECT_INTERVALS).unref();
      for (const event of ['connect', 'end']) this.once(event, () => clearInterval(timer));
    }

    // The form in which the pool calls it. pg's types allow another.
    override connect(callback?: unknown): Promise<Client> {
      const done = callback as (error?: Error) => void;
      super.connect((error: Error | null) => {
        onConnect?.(error ?? undefined);
        done(error ? toConnectError(error) : undefined);
      });
      return Promise.resolve(this);
    }
  };

/** How long a pool opens no further connections once PostgreSQL has refused one, since it has too many, in ms. */
const REFUSED_PAUSE = 1000;

/**
 * Unlike pg's own, keeps the connection of a statement that waited too long for a lock or has a row that PostgreSQL rejects; and if
 * PostgreSQL opens no more connections, statements wait for those that are open.
 */
class KeepingPool extends Pool {
  /** The maximum number of connections. That of `options` is lower while PostgreSQL opens no more. */
  readonly limit = this.options.max;
  readonly #open = new Set<ClientBase>();
  #pause: NodeJS.Timeout | undefined;

  constructor(options: PoolConfig) {
    super(options);
    this.on('connect', (client) => {
      this.#open.add(client);
      client.once('end', () => this.#open.delete(client));
    });
  }

  async #acquire(): Promise<PoolClient> {
    for (;;) {
      try {
        return await this.connect();
      } catch (error) {
        if (!isOutOfConnections(error) || this.#open.size === 0) throw error;
        this.options.max = this.#open.size;
        clearTimeout(this.#pause);
        this.#pause = setTimeout(() => {
          this.options.max = this.limit;
        }, REFUSED_PAUSE).unref();
      }
    }
  }

  // The form in which Prisma's adapter calls it. pg's types allow others.
  override async query(...args: unknown[]): Promise<never> {
    // Each idle connection may end at this moment.
    for (let retries = this.limit; ; retries--) {
      const client = await this.#acquire();
      let isKept = true;
      try {
        return (await client.query(...(args as [string]))) as never;
      } catch (error) {
        // Others may be due to the session: it is read-only since a failover, or has a plan of an old table.
        isKept = isLockTimeout(error) || isRowRefusal(error);
        if (!isIdleEnd(error) || retries === 0) throw error;
      } finally {
        client.release(!isKept);
      }
    }
  }
}

/**
 * The connection pool. Connections are opened on demand. The caller closes the pool, itself or through
 * `$disconnect`. Through a pooler, the time limits of statements and locks are those of the role (see `assertTimeLimits`).
 */
export const createPool = (options: PoolOptions): Pool & Pick<KeepingPool, 'limit'> => {
  const { url, connections, connectTimeout, statementTimeout, lockTimeout, onConnect } = options;
  const pool = new KeepingPool({
    connectionString: sessionUrl(url),
    ...(!isPooled(url) && { statement_timeout: statementTimeout, lock_timeout: lockTimeout }),
    max: connections,
    Client: clientWithin(connectTimeout, onConnect),
    // The pool also applies it to opening a connection.
    connectionTimeoutMillis: statementTimeout && Math.max(statementTimeout, connectTimeout),
    ...keepAlive,
  });
  pool.on('connect', closeWhenSilent);
  pool.on('acquire', (client) => setSilenceTimeout(client, statementTimeout));
  pool.on('release', (_error, client) => setSilenceTimeout(client, 0));
  return pool;
};

type TraceStatement = <Result>(sql: string, send: () => Promise<Result>) => Promise<Result>;

type DatabaseOptions = {
  pool: Pool;
  /** Sends a statement and traces it. */
  traceStatement?: TraceStatement | undefined;
  /** Called when an idle connection breaks. */
  onConnectionLost: (error: Error) => void;
};

/** How many notes Prisma and its adapter each keep for their logs. */
const NOTES = 100;
/** The maximum number of characters of values in these notes, before they are replaced. */
const MAX_NOTED = 1_048_576;
const notes = [clientNotes('plant-store'), adapterNotes('plant-store')];

/** Prisma notes the values of each statement, although nothing logs them: 100 batches of large plants would fill the memory. */
class ForgetfulPg extends PrismaPg {
  #noted = 0;
  traceStatement: TraceStatement | undefined;

  override async connect() {
    const adapter = await super.connect();
    for (const method of ['queryRaw', 'executeRaw'] as const) {
      const send = adapter[method].bind(adapter) as (query: SqlQuery) => Promise<never>;
      adapter[method] = (query) => {
        for (const value of query.args) if (typeof value === 'string') this.#noted += value.length;
        const sent = this.traceStatement?.(query.sql, () => send(query)) ?? send(query);
        return this.#noted > MAX_NOTED ? sent.finally(() => this.#forget()) : sent;
      };
    }
    return adapter;
  }

  #forget() {
    this.#noted = 0;
    for (let count = 0; count < NOTES; count++) for (const note of notes) note('');
  }
}

/**
 * The Prisma client. It opens connections when statements need them; `$connect` only loads the engine, which would
 * delay the first statement by 0.13 s, and on a busy machine beyond its time limit.
 */
export const createDatabase = ({ pool, traceStatement, onConnectionLost }: DatabaseOptions): Database => {
  // Prisma would listen only from its first statement on.
  pool.on('error', (error) => {
    if (!isIdleEnd(error)) onConnectionLost(error);
  });
  const adapter = new ForgetfulPg(pool, {
    disposeExternalPool: true,
    ...(!isPooled(pool.options.connectionString) && { statementNameGenerator: nameOf }),
  });
  adapter.traceStatement = traceStatement;
  return new PrismaClient({ adapter, errorFormat: 'minimal' });
};

/**
 * The name that a statement has in a comment at its beginning. PostgreSQL parses a named statement once for each connection,
 * and plans it without its values if that seems to cost no more. So only those have a name whose best plan never changes, and
 * those of `parsedOnce`; see docs/decisions/0051.
 */
const nameOf = ({ sql }: { sql: string }): string => /^\s*\/\* (\w+) \*\//.exec(sql)?.[1] ?? '';

/**
 * For a statement that PostgreSQL parses once, but plans with its values each time, which takes it a fifth to a third less CPU
 * time than parsing it each time: its name, and a condition for it, which is true. Without the values, PostgreSQL takes the
 * condition for very expensive.
 * @param isUnnamed the statement has neither, as on Citus, where the condition makes every plan slower
 */
export const parsedOnce = (name: string, isUnnamed: boolean): { label: Prisma.Sql; plannedEachTime: Prisma.Sql } =>
  isUnnamed
    ? { label: Prisma.empty, plannedEachTime: Prisma.sql`TRUE` }
    : { label: Prisma.raw(`/* ${name} */`), plannedEachTime: Prisma.sql`(${true} OR ${EXPENSIVE})` };

/** PostgreSQL expects a hundred rows of each function, so ten billion of all. There are none. */
const FUNCTIONS = ['a', 'b', 'c', 'd', 'e'].map((name) => `json_array_elements('[]') AS ${name}`);
const EXPENSIVE = Prisma.raw(`(SELECT count(*) FROM ${FUNCTIONS}) = 0`);

/**
 * A condition of a statement, which is true. PostgreSQL reads `lock_timeout` when it begins to wait. On Citus it would not reach the
 * workers.
 * @param maxWait how long the statement may wait for each lock, in ms; by default as long as its session
 */
export const waitForLocks = (maxWait: number | undefined): Prisma.Sql =>
  maxWait === undefined
    ? Prisma.sql`TRUE`
    : Prisma.sql`set_config('lock_timeout', ${`${maxWait}ms`}, true) IS NOT NULL`;
