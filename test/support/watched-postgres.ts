import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** PostgreSQL sends it when it has accepted a connection (manual §54.7, ReadyForQuery). */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1');

/** A proxy in front of PostgreSQL, which shows what a service sends, whatever its statements are. */
export const watchPostgres = async (databaseUrl: string) => {
  const { hostname, port } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  /** What was sent on each connection. */
  const sent: { text: string }[] = [];
  let isSilent = false;
  const server = createServer((client) => {
    const postgres = connect(Number(port || 5432), hostname);
    for (const [socket, other] of [
      [client, postgres],
      [postgres, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {}).pipe(other);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    const connection = { text: '' };
    sent.push(connection);
    client.on('data', (piece: Buffer) => {
      connection.text += piece.toString('latin1');
    });
    postgres.on('data', (piece: Buffer) => {
      if (isSilent && piece.includes(READY)) postgres.unpipe(client).pause();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = { hostname: '127.0.0.1', port: String((server.address() as AddressInfo).port) };
  return {
    url: Object.assign(new URL(databaseUrl), address).href,
    /** How often a text, such as the id of a plant, was sent to PostgreSQL. */
    timesSent: (text: string): number =>
      sent.reduce((sum, connection) => sum + connection.text.split(text).length - 1, 0),
    /** How many connections are open. */
    connections: (): number => sockets.size / 2,
    /** From now on, lets connections open, and then passes nothing of what PostgreSQL says. */
    silence: (): void => {
      isSilent = true;
    },
    close: (): void => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};

export type WatchedPostgres = Awaited<ReturnType<typeof watchPostgres>>;
