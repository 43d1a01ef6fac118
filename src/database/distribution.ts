/** Runs a statement. @returns its rows */
type Query = (sql: string) => Promise<unknown[]>;

/** @returns whether `plants` is distributed by Citus; false if Citus is not installed */
export const isDistributed = async (query: Query): Promise<boolean> => {
  const installed = await query("SELECT 1 WHERE to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL");
  if (installed.length === 0) return false;
  return (await query("SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('plants')")).length > 0;
};

/** @returns a function that asks the database once, and again only if it could not be asked */
export const createDistributionCheck = (query: Query) => {
  let found: Promise<boolean> | undefined;
  return (): Promise<boolean> => {
    found ??= isDistributed(query).catch((error) => {
      found = undefined;
      throw error;
    });
    return found;
  };
};
