/** What is measured. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadGenerator, OpenTarget } from '../load/load.ts';
import { openPgbench } from '../load/pgbench.ts';
import { BenchError } from '../processes/bench-error.ts';
import { type ServerCommand, startServer } from '../processes/server.ts';
import type { PreparedStore } from '../processes/store.ts';

const root = join(import.meta.dirname, '..');

export type Target = {
  id: string;
  title: string;
  /** Whether each answer of 200 means a row was stored. */
  stores: boolean;
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

/** In the order of the tables. */
export const createTargets = (settings: TargetSettings): Target[] => {
  /** `id` is the name of its file in `peers/`. */
  const peer = (id: string, title: string, packages: string[], stores = true): Target => ({
    id,
    title,
    stores,
    open: () => openPeer({ settings, id, packages }),
  });
  const prisma = ['@prisma/client', '@prisma/adapter-pg'];
  const nest = ['@nestjs/core', '@nestjs/common', '@nestjs/platform-fastify'];
  return [
    { id: 'store', title: 'Plant Store', stores: true, open: () => openStore(settings) },
    peer('express-prisma', 'Express and Prisma', ['express', 'pino-http', ...prisma]),
    peer('fastify-pg', 'Fastify and pg', ['fastify', 'pg']),
    peer('fastify-prisma', 'Fastify and Prisma', ['fastify', ...prisma]),
    peer('nestjs-prisma', 'NestJS and Prisma', [...nest, ...prisma]),
    peer('platformatic-db', 'Platformatic DB', ['@platformatic/db']),
    { id: 'pgbench', title: 'pgbench, single INSERTs', stores: true, open: () => openPgbench(settings) },
    peer('group-commit-bare', 'Bare group commit', ['pg']),
    peer('node-http-bare', 'Bare node:http, stores nothing', [], false),
  ];
};

const openStore = async (settings: TargetSettings) => {
  if (settings.store instanceof BenchError) throw settings.store;
  return openServer({ settings, ...settings.store });
};

type OpenPeer = { settings: TargetSettings; id: string; packages: string[] };

const openPeer = async ({ settings, id, packages }: OpenPeer) => {
  const missing = packages.filter((name) => !existsSync(join(root, 'node_modules', name)));
  if (missing.length > 0) throw new BenchError(`not installed: ${missing.join(', ')}`);
  const env = { DATABASE_URL: settings.databaseUrl, PEER_LOG: settings.quietPeers ? 'off' : 'on' };
  const command = { args: [join(root, 'peers', `${id}.ts`)], cwd: root, env };
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
    get: (path) => fetch(new URL(path, url), { headers: { Authorization: `Bearer ${token}` }, signal }),
    stop,
  };
};
