import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

/** PostgreSQL's own programs, as paths. */
export type Binaries = { initdb: string; pg_ctl: string; postgres: string };

/** The programs that the npm package of this platform carries. */
export const loadBinaries = async (): Promise<Binaries> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return (await import(name)) as Binaries;
  } catch (error) {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL here (the package ${name} is missing). Set DATABASE_URL to a PostgreSQL of your own.`,
      { cause: error },
    );
  }
};
