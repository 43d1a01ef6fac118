/** libpq's environment variables: every account on the machine could read a password in the arguments. */
export const connectionVariables = (databaseUrl: string) => {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  return {
    PGHOST: hostname,
    PGPORT: port || '5432',
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
  };
};
