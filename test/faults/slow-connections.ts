import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** Connections per batch, and the interval between batches, in ms. */
const OPENED_AT_ONCE = 200;
const OPENING_INTERVAL = 50;
/** The interval between the bytes of a connection, in ms. */
const BYTE_INTERVAL = 1000;

/** Slow clients send nothing; a header or a body byte by byte; or nothing after one request. */
const KINDS = ['silent', 'slow header', 'slow body', 'idle'] as const;
type Kind = (typeof KINDS)[number];

type SlowConnection = { kind: Kind; socket: Socket; openedAt: number; closedAfter?: number; answer: string };

const HEADERS = (token: string, length: number) =>
  `POST /plants HTTP/1.1\r\nHost: store\r\nAuthorization: Bearer ${token}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

/** What each kind sends at once, and what it sends byte by byte. */
const scriptOf = (kind: Kind, token: string): [string, string] => {
  const body = `{"id":1,"name":"${'x'.repeat(500)}"}`;
  if (kind === 'silent') return ['', ''];
  if (kind === 'idle') return ['GET /livez HTTP/1.1\r\nHost: store\r\n\r\n', ''];
  if (kind === 'slow header') return ['', HEADERS(token, 10)];
  return [HEADERS(token, body.length), body];
};

/** Opens many slow connections of these kinds, and watches them. */
export const openSlowConnections = async (port: number, count: number, token: string) => {
  const connections: SlowConnection[] = [];

  const open = async (index: number) => {
    const kind = KINDS[index % KINDS.length] as Kind;
    const [atOnce, byteByByte] = scriptOf(kind, token);
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    const connection: SlowConnection = { kind, socket, openedAt: performance.now(), answer: '' };
    socket.on('error', () => {});
    socket.on('data', (text) => {
      connection.answer ||= String(text).slice(0, 12);
    });
    socket.on('close', () => {
      connection.closedAfter = performance.now() - connection.openedAt;
    });
    connections.push(connection);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {});
    socket.write(atOnce);
    let sent = 0;
    const next = setInterval(() => {
      if (sent === byteByByte.length || !socket.writable) clearInterval(next);
      else socket.write(byteByByte[sent++] as string);
    }, BYTE_INTERVAL);
    socket.once('close', () => clearInterval(next));
  };

  for (let opened = 0; opened < count; opened += OPENED_AT_ONCE) {
    const batch = Array.from({ length: Math.min(OPENED_AT_ONCE, count - opened) }, (_, index) => open(opened + index));
    await Promise.all([...batch, setTimeout(OPENING_INTERVAL)]);
  }
  return {
    /** For each kind: how many were opened, how many still are open, when the last one was closed, in ms, and their responses. */
    summary: () =>
      KINDS.map((kind) => {
        const ofKind = connections.filter((connection) => connection.kind === kind);
        const closed = ofKind.flatMap(({ closedAfter = [] }) => closedAfter);
        return {
          kind,
          count: ofKind.length,
          open: ofKind.length - closed.length,
          lastClosedAfter: Math.max(0, ...closed),
          answers: [...new Set(ofKind.map(({ answer }) => answer.replace('HTTP/1.1 ', '')))],
        };
      }),
    close: () => {
      for (const { socket } of connections) socket.destroy();
    },
  };
};
