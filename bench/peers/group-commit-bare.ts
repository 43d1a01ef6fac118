/**
 * The store's batch queue on `node:http` and `pg`, without token, log, validation, exact ids, Express and Prisma. The
 * difference to the store is what those cost.
 */
import { createServer } from 'node:http';
import pg from 'pg';
import { createBatchQueue } from '../../src/batching/batch-queue.ts';
import { readConfig } from '../../src/config/config.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { address, databaseUrl, type NewPlant } from './peer.ts';

const pool = new pg.Pool({ connectionString: databaseUrl });

const writes = createBatchQueue({
  run: async (plants: NewPlant[]) => {
    await pool.query({
      name: 'insert-plants',
      text: 'INSERT INTO plants (id, name, tag) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])',
      values: [plants.map(({ id }) => id), plants.map(({ name }) => name), plants.map(({ tag }) => tag)],
    });
    return plants.map(() => undefined);
  },
  bytesOf: () => 0,
  lateError: () => new Error('PostgreSQL did not answer in time'),
  limits: limitRequests(readConfig({})).writes,
});

const HEADERS = { 'Content-Type': 'application/json; charset=utf-8' };

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (text) => {
    body += text;
  });
  request.on('end', async () => {
    try {
      const plant: NewPlant = JSON.parse(body);
      await writes.add(plant);
      response.writeHead(200, HEADERS).end(JSON.stringify({ name: plant.name, tag: plant.tag }));
    } catch {
      response.writeHead(500, HEADERS).end('{"message":"Failed"}');
    }
  });
});

server.listen(address.port, address.host);
