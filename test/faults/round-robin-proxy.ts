import { once } from 'node:events';
import { Agent, createServer, get, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** The interval and the timeout of health checks, in ms. */
const HEALTH_INTERVAL = 250;
const HEALTH_TIMEOUT = 2000;
/** A replica is removed after so many missing responses in a row; one that is not ready, at once. */
const MISSED_ANSWERS = 3;

type Replica = { port: number; healthy: boolean; missed: number; agent: Agent };

/**
 * A load balancer as in production: it keeps connections to the replicas, sends each request to the next one that is ready
 * according to /readyz, and tries another only if the connection was refused, so that the request was never sent. Other
 * failures become 502, as nginx does for POST.
 */
export const createRoundRobinProxy = async (ports: number[]) => {
  const replicas = ports.map(
    (port): Replica => ({ port, healthy: true, missed: 0, agent: new Agent({ keepAlive: true }) }),
  );
  let turn = 0;
  const inTurn = () => {
    turn = (turn + 1) % replicas.length;
    const rotated = [...replicas.slice(turn), ...replicas.slice(0, turn)];
    return rotated.filter(({ healthy }) => healthy);
  };

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const body = await buffer(incoming);
    let reason = 'no replica is ready';
    for (const replica of inTurn()) {
      const answer = await send(replica, incoming, body).catch((error: NodeJS.ErrnoException) => error);
      if (!(answer instanceof Error)) return relay(answer, outgoing);
      reason = answer.message;
      if (answer.code !== 'ECONNREFUSED') break;
      replica.healthy = false;
    }
    outgoing.writeHead(502).end(JSON.stringify({ error: 0, message: reason }));
  };

  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const checks = setInterval(() => replicas.forEach(check), HEALTH_INTERVAL);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      clearInterval(checks);
      for (const { agent } of replicas) agent.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
};

const send = ({ port, agent }: Replica, { method, url, headers }: IncomingMessage, body: Buffer) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const { connection: _hopByHop, ...passedOn } = headers;
    request({ agent, host: '127.0.0.1', port, method, path: url, headers: passedOn }, resolve)
      .on('error', reject)
      .end(body);
  });

const relay = (answer: IncomingMessage, outgoing: ServerResponse) => {
  const { connection: _hopByHop, ...headers } = answer.headers;
  outgoing.writeHead(answer.statusCode ?? 502, headers);
  answer.pipe(outgoing);
};

const check = (replica: Replica) => {
  const asked = get({ host: '127.0.0.1', port: replica.port, path: '/readyz', timeout: HEALTH_TIMEOUT }, (answer) => {
    answer.resume();
    replica.missed = 0;
    replica.healthy = answer.statusCode === 200;
  });
  asked.on('timeout', () => asked.destroy());
  asked.on('error', (error: NodeJS.ErrnoException) => {
    replica.missed++;
    if (error.code === 'ECONNREFUSED' || replica.missed >= MISSED_ANSWERS) replica.healthy = false;
  });
};
