/** Fastify and node-postgres: a pool of 10, and one named prepared statement. */
import { fastify } from 'fastify';
import pg from 'pg';
import { address, databaseUrl, type NewPlant, newPlantSchema } from './peer.ts';

const UNIQUE_VIOLATION = '23505';

const pool = new pg.Pool({ connectionString: databaseUrl });
const app = fastify({ logger: true });

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

await app.listen(address);
