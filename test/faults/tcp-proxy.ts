import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Messages of PostgreSQL's protocol that carry a password, not a statement (its manual, §54.7); the first message has no type. */
const PASSWORD_MESSAGE = 'p'.charCodeAt(0);

/** The network between a store and its database, which can be cut, lose packets, be slow, or lead elsewhere. */
export const createTcpProxy = async (port: number, host = '127.0.0.1') => {
  let target = port;
  let delay = 0;
  let stalled = false;
  const connections = new Set<{ cut: () => void; stall: () => void }>();

  const server = createServer((client) => {
    const upstream = connect(target, host);
    let swallows = stalled;
    let isFirst = true;
    const toUpstream = createDelayLine((chunk) => upstream.write(chunk));
    client.on('data', (chunk: Buffer) => {
      if (swallows) return;
      const isStatement = !isFirst && chunk[0] !== PASSWORD_MESSAGE;
      isFirst = false;
      toUpstream(chunk, isStatement ? delay : 0);
    });
    upstream.on('data', (chunk) => swallows || client.write(chunk));
    const connection = {
      cut: () => destroy(client, upstream),
      stall: () => {
        swallows = true;
      },
    };
    connections.add(connection);
    for (const [end, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      end.on('error', () => {});
      end.on('close', () => {
        if (!swallows || end === client) other.destroy();
        connections.delete(connection);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    /** The URL of a database, through here. */
    through: (url: string) => {
      const proxied = new URL(url);
      proxied.hostname = '127.0.0.1';
      proxied.port = String((server.address() as AddressInfo).port);
      return proxied.href;
    },
    /** From now on packets are swallowed: connections stay open, and nothing arrives on them ever again. */
    stall: () => {
      stalled = true;
      for (const { stall } of connections) stall();
    },
    /** From now on new connections get through. */
    resume: () => {
      stalled = false;
    },
    /** Each statement takes so many ms longer. */
    slowDown: (milliseconds: number) => {
      delay = milliseconds;
    },
    /** Cuts all connections; new ones lead to this port. */
    redirect: (port: number) => {
      target = port;
      for (const { cut } of connections) cut();
    },
    /** New connections lead to this port; those that there are stay. */
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

/** Passes chunks on in their order, each after its delay. */
const createDelayLine = (pass: (chunk: Buffer) => void) => {
  let lastAt = 0;
  return (chunk: Buffer, delay: number) => {
    const now = performance.now();
    lastAt = Math.max(lastAt, now + delay);
    if (lastAt <= now) pass(chunk);
    else setTimeout(() => pass(chunk), lastAt - now);
  };
};
