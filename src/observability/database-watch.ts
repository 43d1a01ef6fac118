import type { Logger } from 'pino';

/** How long after a loss the next one is not logged, in ms: a server with too few connections refuses some of them. */
const PAUSE = 1000;

/** @returns a function for the outcome of each attempt to open a connection, which logs that the database is lost, and that it is back */
export const createDatabaseWatch = ({ logger }: { logger: Logger }) => {
  let isLost = false;
  let lostAt = Number.NEGATIVE_INFINITY;
  return (error?: Error): void => {
    const since = performance.now() - lostAt;
    if (error && !isLost && since >= PAUSE) {
      isLost = true;
      lostAt = performance.now();
      logger.error({ err: error }, 'the database cannot be reached');
    } else if (!error && isLost) {
      isLost = false;
      logger.info({ duration: Math.round(since) }, 'the database can be reached again');
    }
  };
};
