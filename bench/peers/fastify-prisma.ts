/** Fastify and Prisma: one `create` per request. */
import { PrismaPg } from '@prisma/adapter-pg';
import { fastify } from 'fastify';
import { Prisma, PrismaClient } from './generated/client.ts';
import { address, databaseUrl, logsRequests, type NewPlant, newPlantSchema } from './peer.ts';

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl }) });
const app = fastify({ logger: logsRequests });

app.post<{ Body: NewPlant }>('/plants', { schema: newPlantSchema }, async (request) => {
  const { id, name, tag = null } = request.body;
  const plant = await prisma.plant.create({ data: { id: BigInt(id), name, tag } });
  return { name: plant.name, tag: plant.tag ?? undefined };
});

app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
  const taken = error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
  return reply.status(taken ? 400 : (error.statusCode ?? 500)).send({ message: taken ? 'The id is taken' : 'Failed' });
});

await app.listen(address);
