import { Router } from 'express';
import { createPool } from '../database/database.ts';
import { isIdleEnd, isOutOfConnections } from '../database/database-error.ts';
import { createDurabilityWatch } from '../database/inspect-database.ts';
import { assertReadyToServe } from '../database/migration-state.ts';
import { withinTime } from '../database/within-time.ts';
import { StoreError } from '../errors.ts';
import { addGet } from '../http/handle-error.ts';
import { sendJson } from '../http/send-json.ts';

/** How long the connection of the checks is kept while requests have none, in ms. */
const MAX_AGE = 10_000;

type HealthOptions = {
  database: Omit<Parameters<typeof createPool>[0], 'connections'>;
  /** Whether requests have connections to the database. */
  hasConnections: () => boolean;
  /** How long the database may take to respond, in ms. */
  timeout: number;
  /** Called if a check finds that PostgreSQL could lose confirmed plants; see `createDurabilityWatch`. */
  warn: (message: string) => void;
  onChecked: (error?: Error) => void;
};

/** Health checks: `GET /livez` (the process responds) and `GET /readyz` (it can handle requests). No token is required. */
export const createHealth = ({ database, hasConnections, timeout, warn, onChecked }: HealthOptions) => {
  // Of its own: an instance whose requests all wait for locked plants is ready for others.
  const pool = createPool({ ...database, connections: 1 }).on('error', () => {});
  let openedAt = 0;
  pool.on('connect', () => {
    openedAt = performance.now();
  });
  const watchDurability = createDurabilityWatch(warn);
  let stopping = false;
  let isReady = true;
  let checking: Promise<void> | undefined;
  const routes = Router({ strict: true, caseSensitive: true });
  addGet(routes, '/livez', (_request, response) => sendJson(response, { status: 'live' }));
  const check = async () => {
    const client = await pool.connect().catch((error) => {
      // Requests can go on, and an instance that is taken out of service would help nobody.
      if (!(isOutOfConnections(error) && hasConnections())) throw error;
    });
    if (!client) return;
    let isKept = false;
    try {
      watchDurability(await assertReadyToServe(client));
      // A request that needs a new one may be refused, so checks must notice that, too.
      isKept = hasConnections() || performance.now() - openedAt < MAX_AGE;
    } finally {
      client.release(!isKept);
    }
  };
  const assertReady = async () => {
    if (stopping) throw new StoreError('stopping');
    // Concurrent probes share one query. They need no token and must not take all connections.
    checking ??= check()
      .catch((error) => {
        if (!isIdleEnd(error)) throw error;
        return check();
      })
      .finally(() => {
        checking = undefined;
      });
    const error = await withinTime(checking, timeout).then(
      () => undefined,
      (error: Error) => error,
    );
    isReady = !error;
    onChecked(error);
    if (error) throw error;
  };
  addGet(routes, '/readyz', async (_request, response) => {
    await assertReady();
    sendJson(response, { status: 'ready' });
  });
  return {
    routes,
    /** Rejects if the service cannot handle requests. */
    assertReady,
    /** As of the last check; true before the first one, also while it stops. Starts another: perhaps nothing else probes. */
    isReady: (): boolean => {
      assertReady().catch(() => {});
      return isReady;
    },
    /** From now on, the service is not ready. */
    stop: (): void => {
      stopping = true;
    },
    close: (): Promise<void> => pool.end(),
  };
};
