import type { ObservedQueue } from '../batching/batch-queue.ts';
import type { ByteBudget } from '../http/byte-budget.ts';
import type { HttpServer } from '../server/http-server.ts';

/** The parts of the service that tell what it holds and has done. `counts`, `rows`: since the start. */
export type State = {
  /** Of database connections. `waitingCount`: the statements that wait for a connection. */
  pool: Record<'limit' | 'totalCount' | 'idleCount' | 'waitingCount', number>;
  server: Pick<HttpServer, 'inUse' | 'counts'>;
  budget: Pick<ByteBudget, 'inUse' | 'counts'>;
  plants: { inUse: () => Record<'lockedPlants', number> };
  queues: readonly ObservedQueue[];
  /** `rows`: by outcome, without dry runs. */
  imports: { inProgress: () => number; connectionsInUse: () => number; rows: () => Record<string, number> };
  exports: { inProgress: () => number; rows: () => number };
  health: { isReady: () => boolean };
  droppedLines: () => number;
};

/** What requests hold at this moment. Each number is 0 while the service is idle. */
export const inUse = ({ pool, server, budget, plants, queues, imports, exports }: State) => {
  const sumOf = (numberOf: (queue: ObservedQueue) => number) => queues.reduce((sum, queue) => sum + numberOf(queue), 0);
  return {
    ...server.inUse(),
    ...plants.inUse(),
    queued: sumOf(({ length }) => length()),
    queuedBytes: sumOf(({ bytes }) => bytes()),
    sent: sumOf(({ inProgress }) => inProgress()),
    ...budget.inUse(),
    imports: imports.inProgress(),
    exports: exports.inProgress(),
    connections: pool.totalCount - pool.idleCount + imports.connectionsInUse(),
  };
};
