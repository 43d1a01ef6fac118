import { Client } from 'pg';

/** Where a URL leads, with the driver's defaults and without the password. */
export const describeDatabase = (url: string): string => {
  const { user, database, host, port } = new Client({ connectionString: url });
  return `role "${user}", database "${database}" at ${host}:${port}`;
};
