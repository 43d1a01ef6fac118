import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { Client, type ClientConfig, Pool, type PoolClient, type PoolConfig } from 'pg';
import { type Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { classifyDatabaseError } from './database-error.ts';
import { closeWhenSilent, startSilenceTimeout, stopSilenceTimeout } from './silence-timeout.ts';

export type Database = PrismaClient;
/** What runs a query: the database, or a transaction. */
export type Queries = Pick<Prisma.TransactionClient, '$queryRaw'>;

/** The longest time to wait for a connection to PostgreSQL, in ms, so that clients get a response within 2 s. */
export const CONNECT_TIMEOUT = 1500;

/**
 * The time limit of a statement of an import or export, in ms. A chunk may wait for a lock, and a page may take a scan of the
 * whole table.
 */
export const BULK_STATEMENT_TIMEOUT = 60_000;

type PoolOptions = {
  url: string;
  connections: number;
  /** How long opening a connection may take, in ms. */
  connectTimeout: number;
  /** The time limit of a statement, in ms, and of waiting for a free connection. PostgreSQL cancels a statement that exceeds it. */
  statementTimeout: number;
};

/** If a timer is this late, in ms, the process was too busy to open the connection. */
const LATE = 250;
const MAX_ATTEMPTS = 3;

/** Retries a connection that timed out because this process was busy: opening one takes several round trips. */
class PatientPool extends Pool {
  private readonly connectTimeout: number;

  constructor({ connectTimeout, ...options }: PoolConfig & { connectTimeout: number }) {
    // The pool's own timeout is also that of waiting until another statement is done, which says nothing about the server.
    const QuickClient = class extends Client {
      constructor(config?: ClientConfig) {
        super({ ...config, connectionTimeoutMillis: connectTimeout });
      }
    };
    super({ ...options, Client: QuickClient });
    this.connectTimeout = connectTimeout;
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<PoolClient> | undefined {
    const opening = this.open(1);
    if (callback === undefined) return opening;
    opening.then(
      (client) => callback(undefined, client, (error) => client.release(error)),
      (error: Error) => callback(error, undefined, () => {}),
    );
    return undefined;
  }

  private async open(attempt: number): Promise<PoolClient> {
    const startedAt = performance.now();
    try {
      return await super.connect();
    } catch (error) {
      const wasBusy = performance.now() - startedAt > this.connectTimeout + LATE;
      const isPoolBusy = classifyDatabaseError(error) === 'busy';
      if (!wasBusy || isPoolBusy || attempt === MAX_ATTEMPTS) throw error;
      return this.open(attempt + 1);
    }
  }
}

type ConnectCallback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (error?: Error | boolean) => void,
) => void;

/** The best plan of a search depends on its pattern, so PostgreSQL must not reuse the plan of a named statement. */
const PLAN_SETTING = '-c plan_cache_mode=force_custom_plan';

const withPlanSetting = (url: string): string => {
  const result = new URL(url);
  const own = result.searchParams.get('options') ?? '';
  result.searchParams.set('options', `${own} ${PLAN_SETTING}`.trim());
  return result.href;
};

/** The connection pool. Connections are opened on demand. Whoever gets the pool closes it: the database when it disconnects, or `createPoolStatements`. */
export const createPool = ({ url, connections, connectTimeout, statementTimeout }: PoolOptions): Pool => {
  const pool = new PatientPool({
    connectionString: withPlanSetting(url),
    max: connections,
    connectTimeout,
    connectionTimeoutMillis: statementTimeout,
    statement_timeout: statementTimeout,
    keepAlive: true,
  });
  pool.on('connect', closeWhenSilent);
  pool.on('acquire', (client) => startSilenceTimeout(client, statementTimeout));
  pool.on('release', (_error, client) => stopSilenceTimeout(client));
  return pool;
};

/** The state of a pool. `waiting`: statements that wait for a connection. */
export const describePool = ({ totalCount, idleCount, waitingCount, options }: Pool) => ({
  open: totalCount,
  idle: idleCount,
  waiting: waitingCount,
  limit: options.max,
});

type DatabaseOptions = {
  pool: Pool;
  /** Wraps the driver adapter to trace its statements. */
  traceStatements?: ((adapter: SqlDriverAdapterFactory) => SqlDriverAdapterFactory) | undefined;
  /** Called when an idle connection breaks. */
  onConnectionLost: (error: Error) => void;
};

/** The Prisma client. It connects on first use. */
export const createDatabase = ({ pool, traceStatements, onConnectionLost }: DatabaseOptions): Database => {
  const adapter = new PrismaPg(pool, {
    disposeExternalPool: true,
    onPoolError: onConnectionLost,
    statementNameGenerator: createStatementNames(),
  });
  return new PrismaClient({ adapter: traceStatements?.(adapter) ?? adapter, errorFormat: 'minimal' });
};

/** PostgreSQL parses a named statement once per connection. */
const createStatementNames = () => {
  const names = new Map<string, string>();
  return ({ sql }: { sql: string }): string => {
    const name = names.get(sql) ?? `statement_${names.size}`;
    names.set(sql, name);
    return name;
  };
};
