import type { Logger } from 'pino';

/** How long after an outage began the next one is not logged, in ms: a server with too few connections refuses some of them. */
const PAUSE = 1000;

type Lines = readonly [level: 'warn' | 'error', begins: string, ends: string];

export const DATABASE_LOST: Lines = ['error', 'the database cannot be reached', 'the database can be reached again'];
/** Also if the database can be reached, but is read-only or not migrated. */
export const NOT_READY: Lines = ['warn', 'this instance is not ready', 'this instance is ready again'];
export const TRACES_LOST: Lines = ['warn', 'failed to send traces', 'traces are sent again'];

/** @returns a function for the outcome of each attempt. It logs the first that fails, and the first that succeeds after that */
export const createOutageWatch = ({ logger, lines }: { logger: Logger; lines: Lines }) => {
  const [level, begins, ends] = lines;
  let isOut = false;
  let begunAt = Number.NEGATIVE_INFINITY;
  return (error?: Error): void => {
    const since = performance.now() - begunAt;
    if (error && !isOut && since >= PAUSE) {
      isOut = true;
      begunAt = performance.now();
      logger[level]({ err: error }, begins);
    } else if (!error && isOut) {
      isOut = false;
      logger.info({ duration: Math.round(since) }, ends);
    }
  };
};
