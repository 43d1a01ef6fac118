import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { query } from './postgres-server.ts';
import { readSql } from './psql.ts';
import { runProgram } from './run-program.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

/**
 * A database that an owner who is no superuser has migrated, with a role for the service, `server`, which
 * deploy/postgres/store-role.sql has created.
 */
export const useRoles = () => {
  const password = randomBytes(8).toString('hex');
  // Roles belong to the whole server, so these names are unique.
  const [owner, server] = [`owner_${password}`, `server_${password}`];
  const roleFile = readSql('deploy/postgres/store-role.sql').replaceAll('plant_store_server', server);

  const database = {} as TestDatabase;
  const urlAs = (role: string, name = database.name) =>
    Object.assign(new URL(database.url), { username: role, password, pathname: `/${name}` }).href;
  const queryAs = (role: string, sql: string) => query(urlAs(role), sql);
  const commandAs = (role: string, ...words: string[]) =>
    runProgram(words, { DATABASE_URL: urlAs(role), NODE_ENV: 'production' });

  beforeAll(async () => {
    Object.assign(database, await createTestDatabase({ migrated: false }));
    // An owner who is not a superuser needs CREATEROLE to create the other role.
    await database.administer(`CREATE ROLE ${owner} LOGIN CREATEROLE PASSWORD '${password}'`);
    await database.administer(`ALTER DATABASE ${database.name} OWNER TO ${owner}`);
    const { code, stdout } = await commandAs(owner, 'migrate');
    expect([code, stdout]).toEqual([0, expect.stringContaining('Applied: ')]);
    await queryAs(owner, roleFile);
    await queryAs(owner, `ALTER ROLE ${server} PASSWORD '${password}'`);
  });
  afterAll(async () => {
    await database.drop();
    for (const role of [server, owner]) await database.administer(`DROP ROLE ${role}`);
  });
  return { password, owner, server, roleFile, database, urlAs, queryAs, commandAs };
};
