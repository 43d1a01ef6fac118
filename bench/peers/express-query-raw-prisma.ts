/** What a store of this kind can reach that sends one INSERT per request: the same libraries as Plant Store, nothing else. */
import { PrismaPg } from '@prisma/adapter-pg';
import express from 'express';
import { pinoHttp } from 'pino-http';
import { z } from 'zod';
import { PrismaClient } from './generated/client.ts';
import { address, databaseUrl } from './peer.ts';

const NewPlant = z.object({ id: z.number(), name: z.string().min(1), tag: z.string().optional() });

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl }) });
const app = express();

app.use(pinoHttp());
app.use(express.json());

app.post('/plants', async (request, response) => {
  const { id, name, tag } = NewPlant.parse(request.body);
  await prisma.$queryRaw`INSERT INTO plants (id, name, tag) VALUES (${BigInt(id)}, ${name}, ${tag})`;
  response.json({ name, tag });
});

app.listen(address.port, address.host);
