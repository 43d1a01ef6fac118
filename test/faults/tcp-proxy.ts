import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The type of PostgreSQL messages with a password rather than a statement (manual, §54.7). The first message has no type. */
const PASSWORD_MESSAGE = 'p'.charCodeAt(0);

/** A proxy between a store and its database that can close connections, lose packets, be slow, or lead to another server. */
export const createTcpProxy = async (port: number, host = '127.0.0.1') => {
  let target = port;
  let delay = 0;
  let stalled = false;
  const connections = new Set<{ cut: () => void; stall: () => void }>();

  const server = createServer((client) => {
    const upstream = connect(target, host);
    let isStalled = stalled;
    let isFirst = true;
    const toUpstream = createDelayLine((chunk) => upstream.write(chunk));
    client.on('data', (chunk: Buffer) => {
      if (isStalled) return;
      const isStatement = !isFirst && chunk[0] !== PASSWORD_MESSAGE;
      isFirst = false;
      toUpstream(chunk, isStatement ? delay : 0);
    });
    upstream.on('data', (chunk) => isStalled || client.write(chunk));
    const connection = {
      cut: () => destroy(client, upstream),
      stall: () => {
        isStalled = true;
      },
    };
    connections.add(connection);
    for (const [end, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      end.on('error', () => {});
      end.on('close', () => {
        if (!isStalled || end === client) other.destroy();
        connections.delete(connection);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    /** The URL of a database through this proxy. */
    through: (url: string) => {
      const proxied = new URL(url);
      proxied.hostname = '127.0.0.1';
      proxied.port = String((server.address() as AddressInfo).port);
      return proxied.href;
    },
    /** Drops all packets from now on: connections stay open, but nothing arrives on them any more. */
    stall: () => {
      stalled = true;
      for (const { stall } of connections) stall();
    },
    /** New connections work again. */
    resume: () => {
      stalled = false;
    },
    /** Delays each statement. */
    slowDown: (milliseconds: number) => {
      delay = milliseconds;
    },
    /** Closes all connections; new ones lead to this port. */
    redirect: (port: number) => {
      target = port;
      for (const { cut } of connections) cut();
    },
    /** New connections lead to this port; open ones stay. */
    redirectNew: (port: number) => {
      target = port;
    },
    close: () => {
      for (const { cut } of connections) cut();
      server.close();
    },
  };
};

export type TcpProxy = Awaited<ReturnType<typeof createTcpProxy>>;

const destroy = (...sockets: Socket[]) => {
  for (const socket of sockets) socket.destroy();
};

/** Passes chunks on in order, each after its delay. */
const createDelayLine = (pass: (chunk: Buffer) => void) => {
  let lastAt = 0;
  return (chunk: Buffer, delay: number) => {
    const now = performance.now();
    lastAt = Math.max(lastAt, now + delay);
    if (lastAt <= now) pass(chunk);
    else setTimeout(() => pass(chunk), lastAt - now);
  };
};
