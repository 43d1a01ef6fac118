import { Socket } from 'node:net';
import { callersOf, placeIn } from './stack-place.ts';

/** How many callers to look at: a client of PostgreSQL connects deep within packages. */
const DEPTH = 40;
/**
 * What keeps connections for later, and closes them when it ends; so do the relays of tests for the connections of a pool.
 * `node:http` comes by its agent even without one, so its clients are not watched.
 */
const POOLS = /node:_http_agent|internal\/deps\/undici|\/pg-pool\/|\/(?:tcp-proxy|watched-postgres)\.ts/;

/**
 * Watches the connections that a test's modules open, except those of pools.
 * @returns `places`: those that are open, by the line that opened them; `stop`
 */
export const createConnectionWatch = () => {
  const places = new Map<Socket, string>();
  const original = Socket.prototype.connect as (...words: unknown[]) => Socket;
  const watched = function (this: Socket, ...words: unknown[]): Socket {
    const callers = callersOf(watched, DEPTH);
    const place = POOLS.test(callers) ? undefined : placeIn(callers);
    if (place) places.set(this, `connection of ${place}`);
    this.once('close', () => places.delete(this));
    return original.apply(this, words);
  };
  Object.assign(Socket.prototype, { connect: watched });
  return {
    places: (): Iterable<string> => places.values(),
    stop: () => Object.assign(Socket.prototype, { connect: original }),
  };
};
