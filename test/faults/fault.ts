import type { PostgresServer } from '../support/postgres-server.ts';
import type { Ledger } from './ledger.ts';
import type { Store } from './store.ts';

/** What a fault gets: a running PostgreSQL with a migrated database without plants, and a function that starts stores on it. */
export type World = {
  postgres: PostgresServer;
  token: string;
  /** For files of the fault; removed at the end. */
  folder: string;
  /** Whether this is a short run. */
  short: boolean;
  startStore: (environment?: Record<string, string>, databaseUrl?: string) => Promise<Store>;
  /** Prints progress. */
  say: (line: string) => void;
};

/** The measurements; times in ms. */
export type Findings = {
  sent: number;
  /** The number of 200s, of 400s because the id is taken, of 503s, of other responses, and of requests without a response. */
  answers: Ledger['counts'];
  stored: number;
  lost: number;
  doubled: number;
  longestWait: number;
  recovery?: number | undefined;
  /** Further lines below the table. */
  notes: string[];
  /** The promises that were broken. */
  broken: string[];
};

export type Fault = {
  /** For `--only`. */
  name: string;
  title: string;
  /** Why this machine cannot run it; undefined if it can. */
  obstacle?: () => string | undefined;
  run: (world: World) => Promise<Findings>;
};
