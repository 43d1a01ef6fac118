/** Express and Prisma: one `create`, `findUnique` or `findMany` per request. */
import { PrismaPg } from '@prisma/adapter-pg';
import express, { type ErrorRequestHandler } from 'express';
import { pinoHttp } from 'pino-http';
import { type Plant, Prisma, PrismaClient } from './generated/client.ts';
import { address, databaseUrl } from './peer.ts';

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl }) });
const app = express();

app.use(pinoHttp());
app.use(express.json());

app.post('/plants', async (request, response) => {
  const { id, name, tag } = request.body;
  const plant = await prisma.plant.create({ data: { id: BigInt(id), name, tag } });
  response.json({ name: plant.name, tag: plant.tag ?? undefined });
});

app.get('/plants/:id', async (request, response) => {
  const plant = await prisma.plant.findUnique({ where: { id: BigInt(request.params.id) } });
  if (plant === null) response.status(404).json({ message: 'Plant not found' });
  else response.json(represent(plant));
});

/** Cursor-based pagination, as in Prisma's documentation. */
app.get('/plants', async (request, response) => {
  const { limit = '100', cursor } = request.query;
  const plants = await prisma.plant.findMany({
    take: Number(limit),
    orderBy: { id: 'asc' },
    ...(cursor !== undefined && { skip: 1, cursor: { id: BigInt(String(cursor)) } }),
  });
  response.json(plants.map(represent));
});

/** `JSON.stringify` cannot write a bigint: the id becomes a string. */
const represent = ({ id, name, tag }: Plant) => ({ id: String(id), name, tag: tag ?? undefined });

const answerError: ErrorRequestHandler = (error, _request, response, _next) => {
  const taken = error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
  response.status(taken ? 400 : (error.status ?? 500)).json({ message: taken ? 'The id is taken' : 'Failed' });
};
app.use(answerError);

app.listen(address.port, address.host);
