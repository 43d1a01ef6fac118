import { once } from 'node:events';
import type { Client, ClientConfig } from 'pg';
import { withClient } from '../database/database.ts';
import { classifyDatabaseError } from '../database/database-error.ts';
import { socketOf } from '../database/silence-timeout.ts';
import { OperationalError } from '../errors.ts';
import { createChangeLines } from './change-lines.ts';
import { explainSlotError, type Facts, PUBLICATION, readSlot } from './slot.ts';

/** How often the position is confirmed, in ms. That also keeps the connection while nobody reads the lines (wal_sender_timeout). */
const STATUS_INTERVAL = 1000;
/** How many times in a row PostgreSQL may leave that without a response. */
const MAX_UNANSWERED = 60;
/** Types of messages, and 2000-01-01 in ms, where its clock begins (PostgreSQL's manual, §54.4 and §54.9). */
const PROTOCOL = { change: 0x77, commit: 0x43, keepAlive: 0x6b, epoch: 946_684_800_000 };
const AGAIN = 'Start the command again: it goes on where it stopped, or says that the slot is lost.';
/** pg's types omit this method. */
type Replication = Client & { connection: { sendCopyFromChunk: (bytes: Buffer) => void } };
/** `sync`: makes what was written survive a crash of the machine, where that is possible. */
type Output = { write: (lines: string) => Promise<void>; sync: () => Promise<void>; signal: AbortSignal };
type Options = Output & { slot: string; facts: Facts; check: () => Promise<unknown> };

/**
 * Writes a line for each committed change since the position of the slot, until the signal is aborted. A position is confirmed
 * after the lines before it were written: a crash repeats whole transactions and loses none.
 * @throws {OperationalError} the slot cannot be followed, the connection was lost, or the output failed
 */
export const followChanges = async (url: string, slot: string, output: Output): Promise<void> => {
  const facts = await readSlot(url, slot);
  const options = { ...output, slot, facts, check: () => readSlot(url, slot, facts) };
  const config = { replication: 'database' } as ClientConfig;
  await withClient(url, (client) => stream(client as Replication, options), config).catch((error: Error) => {
    const reason = explainSlotError(error, slot);
    if (reason instanceof OperationalError || classifyDatabaseError(error) === undefined) throw reason;
    throw new OperationalError(`The connection to PostgreSQL was lost: ${reason.message}. ${AGAIN}`, { cause: error });
  });
};

/** pg-logical-replication would confirm what is not written yet, and a byte too much: see docs/decisions/0063. */
const stream = async (client: Replication, { slot, facts, check, write, sync, signal }: Options) => {
  const [socket, toLines, start] = [socketOf(client), createChangeLines(facts.table), BigInt(facts.position ?? 0)];
  // All lines up to `received` are in `lines` or written.
  let [lines, received, written, isInTransaction, unanswered] = ['', start, start, false, 0];
  /** Sends a standby status update: written, flushed and applied. @param asks for a response, which must be read */
  const confirm = async (asks = false) => {
    if (asks && ++unanswered > MAX_UNANSWERED)
      throw new OperationalError(`PostgreSQL does not respond any more. ${AGAIN}`);
    const status = Buffer.from('r'.padEnd(33, '\0') + (asks ? '\x01' : '\0'));
    for (const offset of [1, 9, 17]) status.writeBigUInt64BE(written, offset);
    status.writeBigInt64BE(BigInt(Date.now() - PROTOCOL.epoch) * 1000n, 25);
    await sync();
    client.connection.sendCopyFromChunk(status);
  };
  /** Reads nothing more until the lines are written, so that memory is bounded however large a transaction is. */
  const flush = async () => {
    const [batch, end] = [lines, received];
    [lines, unanswered] = ['', 0];
    socket.pause();
    if (batch) await write(batch);
    socket.resume();
    written = end;
    // PostgreSQL waits for it before it stops.
    if (!batch) await confirm();
  };
  // An error here is a bug. It ends the process, so that nothing more is confirmed.
  client.connection.on('copyData', ({ chunk: message }: { chunk: Buffer }) => {
    if (message[0] === PROTOCOL.change) {
      lines += toLines(message.subarray(25));
      isInTransaction = message[25] !== PROTOCOL.commit;
      if (!isInTransaction) received = message.readBigUInt64BE(35);
    } else if (message[0] === PROTOCOL.keepAlive && !isInTransaction) {
      // Otherwise PostgreSQL would keep what it logs for other tables and databases until a plant changes.
      const end = message.readBigUInt64BE(1);
      if (end > received) received = end;
    }
  });
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const onChecked = (error: Error) => error instanceof OperationalError && reject(error);
  // After pg's listener, so when all messages that arrived together are taken.
  socket.on('data', () => flush().catch(reject));
  using _timer = setInterval(() => confirm(!socket.isPaused()).catch(reject), STATUS_INTERVAL);
  // Once the publication or its table was replaced, PostgreSQL sends nothing more, and does not say so.
  using _check = setInterval(() => check().catch(onChecked), 5 * STATUS_INTERVAL);
  const sql = `START_REPLICATION SLOT "${slot}" LOGICAL 0/0 (proto_version '1', publication_names '${PUBLICATION}', binary 'true')`;
  await Promise.race([client.query(sql), failed, signal.aborted ? undefined : once(signal, 'abort')]);
  if (!signal.aborted) throw new OperationalError(`PostgreSQL is stopping. ${AGAIN}`);
  await confirm();
  await new Promise((resolve) => socket.write('', resolve));
};
