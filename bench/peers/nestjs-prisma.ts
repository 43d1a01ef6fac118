/**
 * NestJS on its Fastify adapter, and Prisma: one `create` a request.
 * Node strips types but knows no decorators, so that they are applied as the functions they are; `Dependencies` and
 * `Bind` are Nest's own for code without TypeScript's decorator metadata.
 */
import 'reflect-metadata';
import { BadRequestException, Bind, Body, Controller, Dependencies, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { PrismaPg } from '@prisma/adapter-pg';
import { Prisma, PrismaClient } from './generated/client.ts';
import type { NewPlant } from './new-plant-schema.ts';
import { writesLog } from './writes-log.ts';

class PrismaService extends PrismaClient {
  constructor() {
    super({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });
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

const adapter = new FastifyAdapter({ logger: writesLog });
const app = await NestFactory.create<NestFastifyApplication>(AppModule, adapter, { logger: false });
await app.listen(Number(process.env.PORT), '127.0.0.1');
