/** Express and Prisma, the obvious way: one `create`, `findUnique` or `findMany` a request. */
import { PrismaPg } from '@prisma/adapter-pg';
import express, { type ErrorRequestHandler } from 'express';
import { pinoHttp } from 'pino-http';
import { type Plant, Prisma, PrismaClient } from './generated/client.ts';
import { writesLog } from './writes-log.ts';

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });
const app = express();

if (writesLog) app.use(pinoHttp());
app.use(express.json());

app.post('/plants', async (request, response) => {
  const { id, name, tag } = request.body;
  const plant = await prisma.plant.create({ data: { id: BigInt(id), name, tag } });
  response.json({ name: plant.name, tag: plant.tag ?? undefined });
});

app.get('/plants/:id', async (request, response) => {
  const plant = await prisma.plant.findUnique({ where: { id: BigInt(request.params.id) } });
  if (plant === null) response.status(404).json({ message: 'There is no such plant' });
  else response.json(represent(plant));
});

/** A page as Prisma's documentation has it, by `cursor` and `skip`. */
app.get('/plants', async (request, response) => {
  const { limit = '100', cursor } = request.query;
  const plants = await prisma.plant.findMany({
    take: Number(limit),
    orderBy: { id: 'asc' },
    ...(cursor !== undefined && { skip: 1, cursor: { id: BigInt(String(cursor)) } }),
  });
  response.json(plants.map(represent));
});

/** `JSON.stringify` knows no bigint: the id is text. */
const represent = ({ id, name, tag }: Plant) => ({ id: String(id), name, tag: tag ?? undefined });

const answerError: ErrorRequestHandler = (error, _request, response, _next) => {
  const taken = error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
  response.status(taken ? 400 : (error.status ?? 500)).json({ message: taken ? 'The id is taken' : 'Failed' });
};
app.use(answerError);

app.listen(Number(process.env.PORT), '127.0.0.1');
