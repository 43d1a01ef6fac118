/** Fastify and Prisma: one `create` a request. */
import { PrismaPg } from '@prisma/adapter-pg';
import { fastify } from 'fastify';
import { Prisma, PrismaClient } from './generated/client.ts';
import { type NewPlant, newPlantSchema } from './new-plant-schema.ts';
import { writesLog } from './writes-log.ts';

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });
const app = fastify({ logger: writesLog });

app.post<{ Body: NewPlant }>('/plants', { schema: newPlantSchema }, async (request) => {
  const { id, name, tag = null } = request.body;
  const plant = await prisma.plant.create({ data: { id: BigInt(id), name, tag } });
  return { name: plant.name, tag: plant.tag ?? undefined };
});

app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
  const taken = error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
  return reply.status(taken ? 400 : (error.statusCode ?? 500)).send({ message: taken ? 'The id is taken' : 'Failed' });
});

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
