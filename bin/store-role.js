import { readFileSync } from 'node:fs';
import pg from 'pg';

// Runs in the image, for docker-compose.yml. Connects as the owner of the database and creates the role of the service, or updates it.

const client = new pg.Client(process.env.DATABASE_URL);
await client.connect();
await client.query(readFileSync(new URL('../deploy/postgres/store-role.sql', import.meta.url), 'utf8'));
await client.query(`ALTER ROLE plant_store_server PASSWORD ${client.escapeLiteral(process.env.STORE_PASSWORD ?? '')}`);
await client.end();
