import { readFileSync } from 'node:fs';
import pg from 'pg';

// Runs in the image, for the compose files. Connects as the owner of the database and creates the role of the service, or updates it.
// Then runs the files that its arguments name.

const client = new pg.Client(process.env.DATABASE_URL);
await client.connect();
for (const file of ['deploy/postgres/store-role.sql', ...process.argv.slice(2)])
  await client.query(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'));
await client.query(`ALTER ROLE plant_store_server PASSWORD ${client.escapeLiteral(process.env.STORE_PASSWORD ?? '')}`);
await client.end();
