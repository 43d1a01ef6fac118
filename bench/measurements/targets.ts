/** What is measured. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadGenerator, OpenTarget } from '../load/load.ts';
import { openPgbench } from '../load/pgbench.ts';
import { BenchError } from '../processes/bench-error.ts';
import { type ServerCommand, startServer } from '../processes/server.ts';
import type { PreparedStore } from '../processes/store.ts';
import type { MeasuredIndexes } from '../reports/results.ts';

const root = join(import.meta.dirname, '..');

export type Target = {
  id: string;
  title: string;
  /** Of the table while it is measured. With `none`, it stores nothing: otherwise each answer of 200 means a row. */
  indexes: MeasuredIndexes;
  /** @throws {BenchError} if it cannot be measured */
  open: () => Promise<OpenTarget>;
};

export type TargetSettings = {
  databaseUrl: string;
  generator: LoadGenerator;
  folder: string;
  signal: AbortSignal;
  /** Turns the peers' request logs off. */
  quietPeers: boolean;
  /** Or why it cannot run. */
  store: PreparedStore | BenchError;
};

/** Peers check no token. They get one so that all requests have the same size. */
const PEER_TOKEN = `plant_${'0'.repeat(43)}`;

/** `file`: its name in `peers/`, if that is not the id. */
type Peer = Pick<Target, 'id' | 'title'> & { packages: string[]; file?: string; indexes?: MeasuredIndexes };

/** In the order of the tables. */
export const createTargets = (settings: TargetSettings): Target[] => {
  const peer = ({ id, title, packages, file = id, indexes = 'primary key' }: Peer): Target => ({
    id,
    title,
    indexes,
    open: () => openPeer({ settings, file, packages }),
  });
  const store = { open: () => openStore(settings) };
  const pgbench = { open: () => openPgbench(settings) };
  const fastifyPg = { file: 'fastify-pg', packages: ['fastify', 'pg'] };
  const prisma = ['@prisma/client', '@prisma/adapter-pg'];
  const nest = ['@nestjs/core', '@nestjs/common', '@nestjs/platform-fastify'];
  return [
    { id: 'store', title: 'Plant Store', indexes: 'all', ...store },
    { id: 'store-primary-key', title: 'Plant Store, primary key only', indexes: 'primary key', ...store },
    peer({ id: 'express-prisma', title: 'Express and Prisma', packages: ['express', 'pino-http', ...prisma] }),
    peer({ id: 'fastify-pg', title: 'Fastify and pg', ...fastifyPg }),
    peer({ id: 'fastify-pg-indexed', title: "Fastify and pg, the store's indexes", indexes: 'all', ...fastifyPg }),
    peer({ id: 'fastify-prisma', title: 'Fastify and Prisma', packages: ['fastify', ...prisma] }),
    peer({ id: 'nestjs-prisma', title: 'NestJS and Prisma', packages: [...nest, ...prisma] }),
    peer({ id: 'platformatic-db', title: 'Platformatic DB', packages: ['@platformatic/db'] }),
    { id: 'pgbench', title: 'pgbench, single INSERTs', indexes: 'primary key', ...pgbench },
    { id: 'pgbench-indexed', title: "pgbench, the store's indexes", indexes: 'all', ...pgbench },
    peer({ id: 'group-commit-bare', title: 'Bare group commit', packages: ['pg'] }),
    peer({ id: 'node-http-bare', title: 'Bare node:http, stores nothing', packages: [], indexes: 'none' }),
  ];
};

const openStore = async (settings: TargetSettings) => {
  if (settings.store instanceof BenchError) throw settings.store;
  return openServer({ settings, ...settings.store });
};

type OpenPeer = { settings: TargetSettings; file: string; packages: string[] };

const openPeer = async ({ settings, file, packages }: OpenPeer) => {
  const missing = packages.filter((name) => !existsSync(join(root, 'node_modules', name)));
  if (missing.length > 0) throw new BenchError(`not installed: ${missing.join(', ')}`);
  const env = { DATABASE_URL: settings.databaseUrl, PEER_LOG: settings.quietPeers ? 'off' : 'on' };
  const command = { args: [join(root, 'peers', `${file}.ts`)], cwd: root, env };
  return openServer({ settings, command, token: PEER_TOKEN });
};

type OpenServer = { settings: TargetSettings; command: ServerCommand; token: string };

const openServer = async ({ settings, command, token }: OpenServer): Promise<OpenTarget> => {
  const { folder, signal, generator } = settings;
  const { pid, url, logFile, stop } = await startServer({ command, token, folder, signal });
  return {
    load: (load) => generator.run({ ...load, url, token, signal }),
    pid,
    logFile,
    address: { url, token },
    get: (path) => fetch(new URL(path, url), { headers: { Authorization: `Bearer ${token}` }, signal }),
    stop,
  };
};
