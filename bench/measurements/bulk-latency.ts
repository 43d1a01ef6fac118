/** What an import costs the single requests beside it. */
import { setTimeout } from 'node:timers/promises';
import { importFile } from '../load/bulk-requests.ts';
import type { Address, LoadResult } from '../load/load.ts';
import { type BulkLatency, countNotOk } from '../reports/results.ts';
import type { BulkSettings } from './bulk-tasks.ts';
import { nextRun, warmUp } from './measure.ts';

export const LATENCY_CONNECTIONS = 16;
const FIRST_WARM_UP = { connections: 64, seconds: 5 };
const WARM_UP = { connections: LATENCY_CONNECTIONS, seconds: 1 };
/** How long the service imports before the measurements, in ms, so that its code is warm, too. */
const IMPORT_WARM_UP_MS = 3000;
/** How long after the load the import starts, in ms. Between two loads it would run at full speed. */
const IMPORT_DELAY_MS = 300;

type MeasureLatency = Pick<BulkSettings, 'store' | 'table' | 'files' | 'seconds' | 'signal'>;

/** p99 of single requests before, during and after an import: before and after on an empty table. */
export const measureLatency = async (settings: MeasureLatency): Promise<Omit<BulkLatency, 'round'>> => {
  const { store, table, files, seconds, signal } = settings;
  const server = await store.open();
  const load = () => server.load({ connections: LATENCY_CONNECTIONS, seconds, run: nextRun() });
  const address = server.address as Address;
  const prepare = async () => {
    await warmUp(server, WARM_UP);
    await table.reset();
  };
  try {
    await warmUp(server, FIRST_WARM_UP);
    // Ends with the signal's error. If imports fail, the measured one tells why.
    await importFile(files, { address, signal: AbortSignal.timeout(IMPORT_WARM_UP_MS) }).catch(() => {});
    await prepare();
    const before = await load();
    await prepare();
    const state = { isImporting: true };
    const importing = setTimeout(IMPORT_DELAY_MS)
      .then(() => importFile(files, { address, signal }))
      .finally(() => {
        state.isImporting = false;
      });
    // If the load fails first, the import's own failure is of no interest.
    importing.catch(() => {});
    const during = await load();
    const { isImporting } = state;
    await importing;
    const rows = await table.settledCount();
    await prepare();
    const after = await load();
    return {
      before: before.p99,
      during: during.p99,
      after: after.p99,
      ratio: during.p99 / ((before.p99 + after.p99) / 2),
      mismatch: isImporting
        ? (countFailures([before, during, after]) ?? compareRows(rows, files.rows + during.ok))
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

/** Requests that the load cut off may be stored. */
const compareRows = (rows: number, expected: number) =>
  rows >= expected && rows <= expected + LATENCY_CONNECTIONS ? undefined : `${rows} rows instead of ${expected}`;
