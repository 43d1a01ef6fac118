/** Fastify and node-postgres: a pool, and a statement that each connection prepares once by its name. */
import { fastify } from 'fastify';
import pg from 'pg';
import { type NewPlant, newPlantSchema } from './new-plant-schema.ts';
import { writesLog } from './writes-log.ts';

const UNIQUE_VIOLATION = '23505';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const app = fastify({ logger: writesLog });

app.post<{ Body: NewPlant }>('/plants', { schema: newPlantSchema }, async (request) => {
  const { id, name, tag } = request.body;
  await pool.query({
    name: 'insert-plant',
    text: 'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)',
    values: [id, name, tag],
  });
  return { name, tag };
});

app.setErrorHandler<Error & { code?: string; statusCode?: number }>((error, _request, reply) => {
  const taken = error.code === UNIQUE_VIOLATION;
  return reply.status(taken ? 400 : (error.statusCode ?? 500)).send({ message: taken ? 'The id is taken' : 'Failed' });
});

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
