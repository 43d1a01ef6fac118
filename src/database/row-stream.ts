import { Readable } from 'node:stream';
import { type Pool, Query, type QueryArrayConfig } from 'pg';
import { BULK_STATEMENT_TIMEOUT, createPool } from './database.ts';
import { socketOf, startSilenceTimeout, stopSilenceTimeout } from './silence-timeout.ts';

/** The size of the pieces of a stream, in bytes. The stall timeout of a response restarts with each piece that the client reads. */
const PIECE = 16_384;
/** How often PostgreSQL looks whether it still has a client while it finds no rows, in ms. */
const CLIENT_CHECK_INTERVAL = 5000;

type RowStreamsOptions = {
  url: string;
  /** The maximum number of concurrent streams. */
  connections: number;
  /** How long to wait for a connection, in ms. */
  connectTimeout: number;
  /** How long PostgreSQL may send nothing while the consumer wants more, in ms, before a quarter is added. */
  silenceTimeout?: number;
};

type StreamOptions<Row> = {
  statement: { text: string; values: unknown[] };
  /** `false`: PostgreSQL does not sort first if an index has the rows in order, so that they come at once. */
  maySort: boolean;
  head: string;
  /** Receives a row as an array, with int8 values as text. */
  write: (row: Row) => string;
  /** Called for each row that is read. */
  onRow: () => void;
  /** Destroys the stream. */
  signal: AbortSignal;
};

/** Streams the rows of a statement as UTF-8 text. A statement sees one snapshot, however long its rows are read. */
export const createRowStreams = (options: RowStreamsOptions) => {
  const { silenceTimeout = BULK_STATEMENT_TIMEOUT, ...poolOptions } = options;
  const pool = createPool({ ...poolOptions, statementTimeout: silenceTimeout });
  // A connection that breaks while it is closed. Without a listener, the event would crash the process.
  pool.on('error', () => {});
  return {
    /**
     * Reads as fast as the consumer does. Has no timeout as a whole, but fails if PostgreSQL sends nothing for too long.
     * Resolves once there is something to read, or the statement has ended. To be destroyed if it is not read to its end.
     */
    open: <Row>(options: StreamOptions<Row>): Promise<Readable> => openStream({ pool, silenceTimeout }, options),
    /** Resolves once all streams are closed. May be called again. */
    close: (): Promise<void> => (pool.ending ? Promise.resolve() : pool.end()),
  };
};

export type RowStreams = ReturnType<typeof createRowStreams>;

const openStream = async <Row>(
  { pool, silenceTimeout }: { pool: Pool; silenceTimeout: number },
  { statement, maySort, head, write, onRow, signal }: StreamOptions<Row>,
): Promise<Readable> => {
  const client = await pool.connect();
  // The same, but a broken connection also fails the statement.
  client.on('error', () => {});
  await client.query(`SET statement_timeout = 0; SET enable_sort = ${maySort}`).catch((error: unknown) => {
    client.release(true);
    throw error;
  });
  // Only Linux, macOS and BSD know it. Without it, PostgreSQL notices a lost client when it sends a row.
  await client.query(`SET client_connection_check_interval = ${CLIENT_CHECK_INTERVAL}`).catch(() => {});
  const socket = socketOf(client);
  const stream = new Readable({
    signal,
    read: () => {
      startSilenceTimeout(client, silenceTimeout);
      socket.resume();
    },
    // Closes the connection, because PostgreSQL would otherwise send all other rows first.
    destroy: (error, done) => {
      socket.resume();
      client.release(true);
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
    stopSilenceTimeout(client);
    socket.pause();
  };
  const { text: sql, values } = statement;
  const query = new Query<Row & unknown[]>({ text: sql, values, rowMode: 'array' } as QueryArrayConfig);
  query.on('row', (row) => {
    onRow();
    text += write(row);
    if (text.length >= PIECE) flush();
  });
  query.on('end', () => {
    flush();
    stream.push(null);
  });
  query.on('error', (error) => stream.destroy(error));
  client.query(query);
  await untilReadable(stream);
  return stream;
};

const untilReadable = (stream: Readable): Promise<void> =>
  new Promise((resolve, reject) => {
    // Stays: the consumer may attach its own listener later.
    stream.on('error', reject);
    stream.once('readable', resolve);
  });
