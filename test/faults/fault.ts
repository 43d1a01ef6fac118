import type { PostgresServer } from '../support/postgres-server.ts';
import type { Ledger } from './ledger.ts';
import type { Store } from './store.ts';

/** What a fault finds: a PostgreSQL that runs, with a migrated database without plants, and a way to start stores on it. */
export type World = {
  postgres: PostgresServer;
  token: string;
  /** For what the fault makes; removed at the end. */
  folder: string;
  /** The shorter form of the run. */
  short: boolean;
  startStore: (environment?: Record<string, string>, databaseUrl?: string) => Promise<Store>;
  /** Tells whoever watches what is under way. */
  say: (line: string) => void;
};

/** What was seen; times in ms. A figure that a fault does not have is left out. */
export type Findings = {
  sent: number;
  /** Answers of 200, of 400 as the id is taken, of 503, any other, and requests without an answer. */
  answers: Ledger['counts'];
  stored: number;
  lost: number;
  doubled: number;
  longestWait: number;
  recovery?: number | undefined;
  /** What else is worth a line below the table. */
  notes: string[];
  /** The promises that were broken. */
  broken: string[];
};

export type Fault = {
  /** For `--only`. */
  name: string;
  title: string;
  /** Why it cannot be had on this machine; undefined: it can. */
  obstacle?: () => string | undefined;
  run: (world: World) => Promise<Findings>;
};
