/** What is measured of imports and exports, and what each is compared with. All use the table with all indexes. */
import type { PlantsTable } from '../database/plants-table.ts';
import { importFile, readExport, sendBatches } from '../load/bulk-requests.ts';
import type { Counted } from '../load/count-lines.ts';
import type { Address, OpenTarget } from '../load/load.ts';
import { openPsql } from '../load/psql.ts';
import type { PlantFiles } from '../plants/plant-files.ts';
import { BenchError, reasonOf } from '../processes/bench-error.ts';
import type { PreparedStore } from '../processes/store.ts';
import { type BulkId, countNotOk } from '../reports/results.ts';
import { measure, warmUp } from './measure.ts';
import type { Target } from './targets.ts';

const CONNECTIONS = 64;
const WARM_UP = { connections: CONNECTIONS, seconds: 5 };
/** What a line has besides the values. */
const NDJSON_BYTES = '{"id":,"name":"","tag":""}\n'.length;
const COPY_BYTES = '\t\t\n'.length;

/** `seconds`: if the load generator knows them better. */
type Done = { rows: number; seconds?: number; mismatch: string | undefined };

export type BulkTask = {
  id: BulkId;
  title: string;
  /** Whether the table is filled or emptied before. */
  table: 'full' | 'empty';
  /** A new process for each measurement. Without it, the task starts a program and waits for its end. */
  server?: Target;
  warmUp?: (server: OpenTarget) => Promise<unknown>;
  /** Returns what checks the rows, once the time is taken. */
  run: (server?: OpenTarget) => Promise<() => Promise<Done>>;
};

export type BulkSettings = {
  store: Target;
  peer: Target;
  preparedStore: PreparedStore | BenchError;
  databaseUrl: string;
  table: PlantsTable;
  files: PlantFiles;
  seconds: number;
  signal: AbortSignal;
};

/** In the order of the report. A task whose program is missing fails when it runs. */
export const createBulkTasks = async (settings: BulkSettings): Promise<BulkTask[]> => {
  const { store, peer, preparedStore, databaseUrl, table, files, seconds, signal } = settings;
  const psql = await openPsql({ databaseUrl, signal }).catch((error: unknown) => new BenchError(reasonOf(error)));
  const toServer = (server?: OpenTarget) => ({ address: server?.address as Address, signal });

  const verifyImport = async (): Promise<Done> => {
    const rows = await table.settledCount();
    return { rows, mismatch: rows === files.rows ? undefined : `${rows} rows instead of ${files.rows}` };
  };
  const verifyExport = async ({ lines, bytes }: Counted, bytesPerLine: number): Promise<Done> => {
    const stored = await table.contents();
    const expected = { lines: stored.rows, bytes: stored.bytes + stored.rows * bytesPerLine };
    const isRight = lines === expected.lines && bytes === expected.bytes;
    const difference = `${lines} lines of ${bytes} bytes instead of ${expected.lines} of ${expected.bytes}`;
    return { rows: lines, mismatch: isRight ? undefined : difference };
  };

  return [
    {
      id: 'import-command',
      title: 'plant-store import',
      table: 'empty',
      run: async () => {
        await installed(preparedStore).importFile(files.ndjson);
        return verifyImport;
      },
    },
    {
      id: 'import',
      title: 'POST /plants/import',
      table: 'empty',
      server: store,
      run: async (server) => {
        await importFile(files, toServer(server));
        return verifyImport;
      },
    },
    {
      id: 'psql-load',
      title: 'psql \\copy FROM',
      table: 'empty',
      run: async () => {
        await installed(psql).load(files.csv);
        return verifyImport;
      },
    },
    {
      id: 'single-posts',
      title: `POST /plants, ${CONNECTIONS} connections`,
      table: 'empty',
      server: store,
      warmUp: (server) => warmUp(server, WARM_UP),
      run: async (server) => {
        const target = server as OpenTarget;
        const measured = await measure({ target, stores: true, table, connections: CONNECTIONS, seconds });
        const { ok, requestsPerSecond } = measured;
        const failures = countNotOk(measured);
        const mismatch = failures > 0 ? `${failures} requests were not answered with 200` : measured.mismatch;
        return async () => ({ rows: ok, seconds: ok / requestsPerSecond, mismatch });
      },
    },
    {
      id: 'create-many',
      title: 'createMany, Express and Prisma',
      table: 'empty',
      server: peer,
      run: async (server) => {
        await sendBatches(files, toServer(server));
        return verifyImport;
      },
    },
    {
      id: 'export',
      title: 'GET /plants/export',
      table: 'full',
      server: store,
      run: async (server) => {
        const counted = await readExport(toServer(server));
        return () => verifyExport(counted, NDJSON_BYTES);
      },
    },
    {
      id: 'psql-unload',
      title: 'psql \\copy TO',
      table: 'full',
      run: async () => {
        const counted = await installed(psql).unload();
        return () => verifyExport(counted, COPY_BYTES);
      },
    },
  ];
};

const installed = <Tool>(tool: Tool | BenchError): Tool => {
  if (tool instanceof BenchError) throw tool;
  return tool;
};
