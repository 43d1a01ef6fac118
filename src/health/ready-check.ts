import type { Database } from '../database/database.ts';
import { assertReadyToServe } from '../database/migration-state.ts';
import { withinTime } from '../database/within-time.ts';
import { unavailable } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';

/** `timeout`: how long the database may take to respond, in ms. */
export const createReadyCheck = ({ database, timeout }: { database: Database; timeout: number }) => {
  let stopping = false;
  let checking: Promise<void> | undefined;
  return {
    /** @throws the reason why the service cannot handle requests */
    assertReady: async (): Promise<void> => {
      if (stopping) throw unavailable(commonErrors.stopping);
      // Concurrent probes share one query. They need no token and must not take all connections.
      checking ??= assertReadyToServe(database).finally(() => {
        checking = undefined;
      });
      await withinTime(checking, timeout);
    },
    /** From now on, the service is not ready. */
    stop: (): void => {
      stopping = true;
    },
  };
};
