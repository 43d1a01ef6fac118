import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** How many connections are opened at once, and how long until the next so many, in ms. */
const OPENED_AT_ONCE = 200;
const OPENING_INTERVAL = 50;
/** How often each sends its next byte, in ms. */
const BYTE_INTERVAL = 1000;

/** What slow clients do: nothing at all; a header, or a body, a byte at a time; or nothing more after one request. */
const KINDS = ['silent', 'slow header', 'slow body', 'idle'] as const;
type Kind = (typeof KINDS)[number];

type SlowConnection = { kind: Kind; socket: Socket; openedAt: number; closedAfter?: number; answer: string };

const HEADERS = (token: string, length: number) =>
  `POST /plants HTTP/1.1\r\nHost: store\r\nAuthorization: Bearer ${token}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

/** What each kind sends at once, and what it sends a byte at a time. */
const scriptOf = (kind: Kind, token: string): [string, string] => {
  const body = `{"id":1,"name":"${'x'.repeat(500)}"}`;
  if (kind === 'silent') return ['', ''];
  if (kind === 'idle') return ['GET /livez HTTP/1.1\r\nHost: store\r\n\r\n', ''];
  if (kind === 'slow header') return ['', HEADERS(token, 10)];
  return [HEADERS(token, body.length), body];
};

/** Opens many connections that are slow, each in one of four ways, and watches what becomes of them. */
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
    /** Of each kind: how many there were and are still open, when the last one was closed, in ms, and what they were told. */
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
