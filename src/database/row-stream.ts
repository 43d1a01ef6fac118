import { Readable } from 'node:stream';
import { DatabaseError, Query, type QueryArrayConfig } from 'pg';
import { BULK_STATEMENT_TIMEOUT, CLIENT_CHECK_INTERVAL, openClient } from './database.ts';
import { closeWhenSilent, setSilenceTimeout, socketOf } from './silence-timeout.ts';

/** The size of the pieces of a stream, in bytes. The stall timeout of a response restarts with each piece that the client reads. */
const PIECE = 16_384;

export type RowStreamOptions = {
  url: string;
  /** How long to wait for a connection, in ms. */
  connectTimeout: number;
  /** How long PostgreSQL may send nothing while the consumer wants more, in ms. See `setSilenceTimeout`. */
  silenceTimeout?: number;
  /** How often PostgreSQL checks, while the statement runs, whether its connection is still open, in ms. */
  clientCheckInterval?: number;
};

type Statement<Row> = {
  sql: { text: string; values: unknown[] };
  /** `false`: if an index has the rows in order, PostgreSQL does not sort first, so that the first rows come immediately. */
  maySort: boolean;
  head: string;
  /** Receives a row as an array, with int8 values as text. */
  write: (row: Row) => string;
  /** Destroys the stream. */
  signal: AbortSignal;
};

/**
 * Streams the rows of a statement as UTF-8 text, on a connection of its own. The statement sees one snapshot and has no
 * overall timeout. Reads as fast as the consumer does.
 * @returns once there is something to read, or the statement has ended. The caller must destroy it unless it reads to the end
 */
export const openRowStream = async <Row extends unknown[]>(
  options: RowStreamOptions,
  { sql, maySort, head, write, signal }: Statement<Row>,
): Promise<Readable> => {
  const { url, connectTimeout, silenceTimeout = BULK_STATEMENT_TIMEOUT } = options;
  const { clientCheckInterval = CLIENT_CHECK_INTERVAL } = options;
  const client = await openClient(url, { connectionTimeoutMillis: connectTimeout });
  try {
    closeWhenSilent(client);
    setSilenceTimeout(client, connectTimeout);
    // In a transaction, because a pooler may give the connection to another client between transactions.
    // PostgreSQL has a transaction_timeout from 17 on.
    const noTransactionLimit = "SELECT set_config(name, '0', TRUE) FROM pg_settings WHERE name = 'transaction_timeout'";
    const settings = `${noTransactionLimit}; SET LOCAL enable_sort = ${maySort}`;
    const checks = `SET LOCAL client_connection_check_interval = ${clientCheckInterval}`;
    // Only Linux, macOS and BSD support the checks. Without them, PostgreSQL notices a lost client when it sends a row.
    await client.query(`BEGIN; ${settings}; ${checks}`).catch((error) => {
      if (!(error instanceof DatabaseError)) throw error;
      return client.query(`ROLLBACK; BEGIN; ${settings}`);
    });
    // As messages of their own, so that Citus passes the second on to its workers. Elsewhere the first means nothing.
    await client.query('SET LOCAL citus.propagate_set_commands = local');
    await client.query('SET LOCAL statement_timeout = 0');
  } catch (error) {
    client.end().catch(() => {});
    throw error;
  }
  const socket = socketOf(client);
  const stream = new Readable({
    signal,
    read: () => {
      setSilenceTimeout(client, silenceTimeout);
      socket.resume();
    },
    // Closes the connection, because PostgreSQL would otherwise send all other rows first.
    destroy: (error, done) => {
      // For a PostgreSQL that hangs.
      setSilenceTimeout(client, silenceTimeout);
      socket.resume();
      client.end(() => {});
      done(error);
    },
  });
  let text = head;
  const flush = () => {
    const bytes = Buffer.from(text);
    text = '';
    let isWanted = true;
    for (let start = 0; start < bytes.length; start += PIECE)
      isWanted = stream.push(bytes.subarray(start, start + PIECE));
    if (isWanted) return;
    setSilenceTimeout(client, 0);
    socket.pause();
  };
  const query = new Query<Row>({ ...sql, rowMode: 'array' } as QueryArrayConfig);
  query.on('row', (row) => {
    text += write(row);
    if (text.length >= PIECE) flush();
  });
  query.on('end', () => {
    client.query('COMMIT').catch(() => {});
    flush();
    stream.push(null);
  });
  query.on('error', (error) => stream.destroy(error));
  client.query(query);
  await new Promise<void>((resolve, reject) => {
    // The listener stays, because the consumer may attach its own only later.
    stream.on('error', reject);
    stream.once('readable', resolve);
  });
  return stream;
};
