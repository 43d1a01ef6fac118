import { readFileSync } from 'node:fs';
import { Client } from 'pg';

/**
 * Sends a file of plants to a running service, with 32 clients, then compares the rows in PostgreSQL with the file.
 * Usage: store-trees.ts FILE BASE_URL TOKEN DATABASE_URL
 */
const [file = '', baseUrl = '', token = '', databaseUrl = ''] = process.argv.slice(2);
const CLIENTS = 32;

type Tree = { id: number; name: string; tag?: string };

const lines = readFileSync(file, 'utf8').trim().split('\n');
const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
const waiting = lines.values();

const post = async (body: string) => {
  const { id, ...plant } = JSON.parse(body) as Tree;
  const response = await fetch(`${baseUrl}/plants`, { method: 'POST', headers, body });
  const answer = await response.text();
  if (response.status === 200 && answer === JSON.stringify(plant)) return;
  throw new Error(`plant ${id}: ${response.status} ${answer}`);
};

const startedAt = performance.now();
await Promise.all(
  Array.from({ length: CLIENTS }, async () => {
    for (const line of waiting) await post(line);
  }),
);
const seconds = (performance.now() - startedAt) / 1000;

const client = new Client({ connectionString: databaseUrl });
await client.connect();
const { rows } = await client.query<{ id: string; name: string; tag: string | null }>(
  'SELECT id, name, tag FROM plants',
);
await client.end();
const stored = new Map(rows.map((row) => [row.id, row]));
const different = lines.filter((line) => {
  const { id, name, tag = null } = JSON.parse(line) as Tree;
  const row = stored.get(String(id));
  return row?.name !== name || row.tag !== tag;
});
if (different.length > 0)
  throw new Error(`${different.length} plants are not stored as sent, for example ${different[0]}`);
process.stdout.write(
  `${lines.length} plants sent by ${CLIENTS} clients in ${seconds.toFixed(1)} s: all responses are 200, all rows as sent\n`,
);
