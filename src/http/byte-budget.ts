import type { Response } from 'express';

/** What a request holds: its body, and then its response. */
type Held = {
  kind: 'bodies' | 'responses';
  bytes: number;
  /** Frees them. */
  drop: () => void;
};

/** Counts what a request holds from now on, until its response is sent or its connection closes. */
export type Hold = (response: Response, held: Held) => void;

/** What a token or an address holds, oldest first. */
type Holder = { bytes: number; held: Map<Response, Held> };

/** Whom what a request holds counts for. */
export const nameHolder = ({ locals: { tokenName, client } }: Pick<Response, 'locals'>): string =>
  tokenName === undefined ? `address ${client}` : `token ${tokenName}`;

/**
 * Bounds the bytes that bodies and responses hold. Beyond `limit`, it drops the oldest of the token that holds most, or of the
 * address that does so without a token. So no client loses its request to another, however slow it is (record 0060).
 */
export const createByteBudget = ({ limit }: { limit: number }) => {
  const holders = new Map<string, Holder>();
  const bytes = { bodies: 0, responses: 0 };
  const dropped = { bodies: 0, responses: 0 };

  const add = (holder: Holder, held: Held, sign: 1 | -1) => {
    holder.bytes += sign * held.bytes;
    bytes[held.kind] += sign * held.bytes;
  };

  const release = (response: Response, name = nameHolder(response), holder = holders.get(name)) => {
    const held = holder?.held.get(response);
    if (holder === undefined || held === undefined) return undefined;
    add(holder, held, -1);
    holder.held.delete(response);
    if (holder.held.size === 0) holders.delete(name);
    return held;
  };

  const dropOldest = () => {
    const most = holders.values().reduce((a, b) => (b.bytes > a.bytes ? b : a));
    const [oldest] = most.held.keys();
    const held = oldest && release(oldest);
    if (held === undefined) return;
    dropped[held.kind] += 1;
    held.drop();
  };

  const hold: Hold = (response, held) => {
    // Its client has disconnected: no other `close` would follow.
    if (response.destroyed) return;
    const name = nameHolder(response);
    const holder = holders.get(name) ?? { bytes: 0, held: new Map() };
    holders.set(name, holder);
    const before = holder.held.get(response);
    if (before) add(holder, before, -1);
    else response.once('close', () => release(response));
    add(holder, held, 1);
    holder.held.set(response, held);
    // One alone may hold more than the limit.
    while (bytes.bodies + bytes.responses > limit && (holders.size > 1 || holder.held.size > 1)) dropOldest();
  };

  return {
    hold,
    inUse: () => ({ bodyBytes: bytes.bodies, responseBytes: bytes.responses }),
    /** How many were dropped since the start. */
    counts: () => dropped,
  };
};

export type ByteBudget = ReturnType<typeof createByteBudget>;
