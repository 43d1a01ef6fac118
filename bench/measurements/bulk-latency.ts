/** What an import costs the single requests beside it. */
import { importFile } from '../load/bulk-requests.ts';
import type { Address, LoadResult } from '../load/load.ts';
import { type BulkLatency, countNotOk } from '../reports/results.ts';
import type { BulkSettings } from './bulk-tasks.ts';
import { nextRun, warmUp } from './measure.ts';

export const LATENCY_CONNECTIONS = 16;
const FIRST_WARM_UP = { connections: 64, seconds: 5 };
const WARM_UP = { connections: LATENCY_CONNECTIONS, seconds: 1 };

type MeasureLatency = Pick<BulkSettings, 'store' | 'table' | 'files' | 'seconds' | 'signal'>;

/** p99 of single requests before, during and after an import: before and after on an empty table. */
export const measureLatency = async (settings: MeasureLatency): Promise<Omit<BulkLatency, 'round'>> => {
  const { store, table, files, seconds, signal } = settings;
  const server = await store.open();
  const load = () => server.load({ connections: LATENCY_CONNECTIONS, seconds, run: nextRun() });
  const loadAlone = async () => {
    await warmUp(server, WARM_UP);
    await table.reset();
    return load();
  };
  try {
    await warmUp(server, FIRST_WARM_UP);
    const before = await loadAlone();
    await table.reset();
    const state = { isImporting: true };
    const importing = importFile(files, { address: server.address as Address, signal }).finally(() => {
      state.isImporting = false;
    });
    // If the load fails first, the import's own failure is of no interest.
    importing.catch(() => {});
    const settling = await warmUp(server, WARM_UP);
    const during = await load();
    const { isImporting } = state;
    await importing;
    const rows = await table.settledCount();
    const after = await loadAlone();
    return {
      before: before.p99,
      during: during.p99,
      after: after.p99,
      ratio: during.p99 / ((before.p99 + after.p99) / 2),
      mismatch: isImporting
        ? (countFailures([before, settling, during, after]) ?? compareRows(rows, files.rows + settling.ok + during.ok))
        : 'the import ended before the requests did',
    };
  } finally {
    await server.stop();
  }
};

const countFailures = (loads: LoadResult[]) => {
  const failures = loads.reduce((sum, load) => sum + countNotOk(load), 0);
  return failures > 0 ? `${failures} requests were not answered with 200` : undefined;
};

/** Requests that the two loads cut off may be stored. */
const compareRows = (rows: number, expected: number) =>
  rows >= expected && rows <= expected + 2 * LATENCY_CONNECTIONS ? undefined : `${rows} rows instead of ${expected}`;
