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

/** How long a connection is idle before the system asks whether the other end is there, in ms. Firewalls forget sooner than Linux asks. */
const KEEP_ALIVE_DELAY = 60_000;

/** The connections to PostgreSQL, which are kept once they are open. They belong to the database that is made with them. */
export const createPool = ({ url, connections, connectTimeout, statementTimeout }: PoolOptions): Pool => {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeout,
    statement_timeout: statementTimeout,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
    // Never closed because it is idle.
    idleTimeoutMillis: 0,
  });
  giveUpSilentConnections(pool, statementTimeout);
  return pool;
};

/**
 * Opens all connections. It takes several round trips, for which a process that is suddenly busy has no time left. One that
 * cannot be opened now is opened when it is needed.
 */
export const openConnections = async (database: Database, pool: Pool): Promise<void> => {
  // From then on Prisma listens for connections that are lost, and closes the pool with its own end.
  await database.$connect();
  const open = () =>
    pool.connect().then(
      (client) => client.release(),
      () => {},
    );
  await Promise.all(Array.from({ length: pool.options.max }, open));
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
