import type { Socket } from 'node:net';
import { PrismaPg } from '@prisma/adapter-pg';
import { Pool, type PoolClient } from 'pg';
import { PrismaClient } from '../generated/prisma/client.ts';
import { traceStatements } from '../tracing/trace-statements.ts';
import type { Tracer } from '../tracing/tracer.ts';

export type Database = PrismaClient;

/** How long to wait for a connection to PostgreSQL, in ms, at most: who sends a request is to know within 2 s. */
export const CONNECT_TIMEOUT = 1500;

type PoolOptions = {
  url: string;
  connections: number;
  /** How long to wait for a connection, in ms. */
  connectTimeout: number;
  /** How long a statement may take, in ms; one that takes longer is given up and its connection closed. */
  statementTimeout: number;
};

/** A timer that is late by so many ms shows that this process was busy, and had no time for the connection. */
const LATE = 250;
const MAX_ATTEMPTS = 3;

/** Tries again to open a connection that timed out because this process was busy: opening one takes several round trips. */
class PatientPool extends Pool {
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
      const { connectionTimeoutMillis = 0 } = this.options;
      const wasBusy = performance.now() - startedAt > connectionTimeoutMillis + LATE;
      if (!wasBusy || attempt === MAX_ATTEMPTS) throw error;
      return this.open(attempt + 1);
    }
  }
}

type ConnectCallback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (error?: Error | boolean) => void,
) => void;

/** The connections to PostgreSQL; each is opened when it is needed. They belong to the database that is made with them. */
export const createPool = ({ url, connections, connectTimeout, statementTimeout }: PoolOptions): Pool => {
  const pool = new PatientPool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeout,
    statement_timeout: statementTimeout,
    keepAlive: true,
  });
  giveUpSilentConnections(pool, statementTimeout);
  return pool;
};

/**
 * PostgreSQL ends a statement that takes too long, and says so. Where nothing comes or goes for a tenth longer, it cannot be
 * reached any more, and the connection is closed. Not by the driver's `query_timeout`, which keeps each statement in memory (record 0024).
 */
const giveUpSilentConnections = (pool: Pool, statementTimeout: number) => {
  pool.on('connect', (client) => {
    const socket = socketOf(client);
    socket.on('timeout', () => socket.destroy(new Error('Connection terminated: PostgreSQL did not answer in time')));
  });
  pool.on('acquire', (client) => socketOf(client).setTimeout(1.1 * statementTimeout));
  pool.on('release', (_error, client) => socketOf(client).setTimeout(0));
};

/** The types of `pg` leave `connection` out. */
const socketOf = (client: PoolClient) => (client as PoolClient & { connection: { stream: Socket } }).connection.stream;

type DatabaseOptions = {
  pool: Pool;
  /** Follows each statement. */
  tracer?: Tracer | undefined;
  /** Told of a connection that broke while nobody used it. */
  onConnectionLost: (error: Error) => void;
};

/** The client of the database; it connects when it is first asked something. */
export const createDatabase = ({ pool, tracer, onConnectionLost }: DatabaseOptions): Database => {
  const adapter = new PrismaPg(pool, {
    disposeExternalPool: true,
    onPoolError: onConnectionLost,
    statementNameGenerator: createStatementNames(),
  });
  return new PrismaClient({ adapter: tracer ? traceStatements(adapter, tracer) : adapter, errorFormat: 'minimal' });
};

/**
 * Names for the store's statements, of which there is a handful: PostgreSQL parses each once a connection. A search has
 * none: how best to go about it depends on the pattern, and PostgreSQL comes to plan named ones without their parameters.
 */
const createStatementNames = () => {
  const names = new Map<string, string>();
  return ({ sql }: { sql: string }): string => {
    if (sql.includes(' ILIKE ')) return '';
    const name = names.get(sql) ?? `statement_${names.size}`;
    names.set(sql, name);
    return name;
  };
};
