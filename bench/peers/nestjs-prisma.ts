/**
 * NestJS on its Fastify adapter, and Prisma: one `create` per request.
 * Node.js strips types but does not support decorators, so they are called as functions. NestJS provides `Dependencies`
 * and `Bind` for code without TypeScript's decorator metadata.
 */
import 'reflect-metadata';
import { BadRequestException, Bind, Body, Controller, Dependencies, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { PrismaPg } from '@prisma/adapter-pg';
import { Prisma, PrismaClient } from './generated/client.ts';
import { address, databaseUrl, logsRequests, type NewPlant } from './peer.ts';

class PrismaService extends PrismaClient {
  constructor() {
    super({ adapter: new PrismaPg({ connectionString: databaseUrl }) });
  }
}

class PlantsController {
  readonly #prisma: PrismaService;

  constructor(prisma: PrismaService) {
    this.#prisma = prisma;
  }

  async create(body: NewPlant) {
    const { id, name, tag = null } = body;
    const plant = await this.#prisma.plant.create({ data: { id: BigInt(id), name, tag } }).catch(refuse);
    return { name: plant.name, tag: plant.tag ?? undefined };
  }
}

const refuse = (error: unknown): never => {
  const taken = error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
  throw taken ? new BadRequestException('The id is taken') : error;
};

const create = Object.getOwnPropertyDescriptor(PlantsController.prototype, 'create') ?? {};
for (const decorate of [Post(), HttpCode(200), Bind(Body())]) decorate(PlantsController.prototype, 'create', create);
Dependencies(PrismaService)(PlantsController);
Controller('plants')(PlantsController);

class AppModule {}
Module({ controllers: [PlantsController], providers: [PrismaService] })(AppModule);

const adapter = new FastifyAdapter({ logger: logsRequests });
const app = await NestFactory.create<NestFastifyApplication>(AppModule, adapter, { logger: false });
await app.listen(address.port, address.host);
