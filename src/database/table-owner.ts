import type { Client } from 'pg';
import { OperationalError } from '../operational-error.ts';

/** @throws {OperationalError} the database is not migrated, or the role of the connection does not own its tables */
export const assertOwner = async (client: Client): Promise<void> => {
  const { rows } = await client.query<{ owner: string; owns: boolean }>(`
    SELECT pg_get_userbyid(relowner) AS owner, pg_has_role(relowner, 'USAGE') AS owns
    FROM pg_class WHERE oid = to_regclass('plants')`);
  const [plants] = rows;
  if (plants === undefined) throw new OperationalError('The database is not migrated. Run: plant-store migrate');
  if (!plants.owns)
    throw new OperationalError(`Only the owner of the table plants may do this. Connect as the role ${plants.owner}.`);
};
