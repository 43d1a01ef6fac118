/** Express and Prisma, the obvious way: one `create` a request. */
import { PrismaPg } from '@prisma/adapter-pg';
import express, { type ErrorRequestHandler } from 'express';
import { Prisma, PrismaClient } from './generated/client.ts';

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });
const app = express();

app.use(express.json());

app.post('/plants', async (request, response) => {
  const { id, name, tag } = request.body;
  const plant = await prisma.plant.create({ data: { id: BigInt(id), name, tag } });
  response.json({ name: plant.name, tag: plant.tag ?? undefined });
});

const answerError: ErrorRequestHandler = (error, _request, response, _next) => {
  const taken = error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
  response.status(taken ? 400 : (error.status ?? 500)).json({ message: taken ? 'The id is taken' : 'Failed' });
};
app.use(answerError);

app.listen(Number(process.env.PORT), '127.0.0.1');
