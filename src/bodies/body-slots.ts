import { setImmediate } from 'node:timers/promises';
import { StoreError } from '../errors.ts';

/** How long a body keeps its slot, in ms, even if others are waiting. */
const MIN_HOLD_TIME = 2000;
/** In ms. */
const CHECK_INTERVAL = 250;
/** Bodies that may wait for a slot. Each holds up to 64 KiB that was read before it had to wait. */
const MAX_WAITING = 64;
/** Bodies that may wait to be parsed. Parsing this many takes at most two seconds. */
const MAX_UNPARSED = 256;

type Claim = {
  /** The body may be read. */
  onGranted: () => void;
  /** Too many bodies are waiting, or this one held its slot too long while others waited. The caller must drop it. */
  onLost: () => void;
};

/**
 * Limits how many large bodies are read and parsed concurrently. A body without a slot is not read. If others are
 * waiting, a slow body loses its slot, so stalled uploads can neither exhaust memory nor block others for long.
 */
export const createBodySlots = ({ count }: { count: number }) => {
  /** When each body got its slot, in ms, oldest first. */
  const holders = new Map<Claim, number>();
  const waiting = new Set<Claim>();
  let check: NodeJS.Timeout | undefined;
  let unparsed = 0;
  let lastParsed: Promise<unknown> = Promise.resolve();

  const grantNext = () => {
    const [claim] = waiting;
    if (claim === undefined || holders.size >= count) return;
    waiting.delete(claim);
    holders.set(claim, performance.now());
    claim.onGranted();
  };

  const revokeOverdue = () => {
    const latest = performance.now() - MIN_HOLD_TIME;
    const overdue = [...holders].filter(([, since]) => since <= latest).slice(0, waiting.size);
    for (const [{ onLost }] of overdue) onLost();
    if (waiting.size > 0) return;
    clearInterval(check);
    check = undefined;
  };

  return {
    /** How many bodies have a slot, or wait for one or to be parsed. */
    inUse: (): number => holders.size + waiting.size + unparsed,
    /** @returns a function that releases the slot or stops waiting for one */
    take: (claim: Claim) => {
      if (waiting.size >= MAX_WAITING) claim.onLost();
      else waiting.add(claim);
      grantNext();
      if (waiting.has(claim)) check ??= setInterval(revokeOverdue, CHECK_INTERVAL).unref();
      return () => {
        waiting.delete(claim);
        if (holders.delete(claim)) grantNext();
      };
    },
    /**
     * Parses a body when it is its turn: one at a time, in order. After each, other events get a turn, so that small
     * requests are not delayed.
     * @throws {StoreError} 1500 if too many bodies are waiting; the errors of `parse`
     */
    parseInTurn: async <Body>(parse: () => Promise<Body>): Promise<Body> => {
      if (unparsed >= MAX_UNPARSED) throw tooManyBodies();
      unparsed += 1;
      const body = lastParsed.then(parse);
      const onParsed = () => {
        unparsed -= 1;
        return setImmediate();
      };
      lastParsed = body.then(onParsed, onParsed);
      return body;
    },
  };
};

export const tooManyBodies = (): StoreError =>
  new StoreError('overloaded', 'Too many large bodies are being sent. Try again later.');

export type BodySlots = ReturnType<typeof createBodySlots>;
