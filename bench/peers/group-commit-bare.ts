/**
 * The store's group commit and nothing else of it, on `node:http` and `pg`: no token, no log, no checks and no exact ids,
 * no Express and no Prisma. What those cost is what lies between this and the store.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';
import pg from 'pg';
import { storeRoot } from '../store.ts';
import type { NewPlant } from './new-plant-schema.ts';

const { createBatchQueue }: typeof import('../../src/plants/batch-queue.ts') = await import(
  join(storeRoot, 'src', 'plants', 'batch-queue.ts')
);
const { limitRequests }: typeof import('../../src/request-limits.ts') = await import(
  join(storeRoot, 'src', 'request-limits.ts')
);
const { readConfig }: typeof import('../../src/config.ts') = await import(join(storeRoot, 'src', 'config.ts'));

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });

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

server.listen(Number(process.env.PORT), '127.0.0.1');
