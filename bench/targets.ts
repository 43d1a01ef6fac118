/** What is measured, in the order in which it is shown. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import type { Load, LoadGenerator } from './load.ts';
import { openPgbench } from './pgbench.ts';
import { cpuSeconds, peakMemory } from './process-tree.ts';
import { type ServerCommand, startServer } from './server.ts';
import type { Get } from './verify-reads.ts';

/** A target that runs and can be loaded. CPU time is in seconds since it started, memory in bytes. */
export type OpenTarget = {
  load: (load: Load) => ReturnType<LoadGenerator['run']>;
  cpuSeconds: () => number | undefined;
  peakMemory: () => number | undefined;
  pid?: number;
  logFile?: string;
  /** Servers only. */
  get?: Get;
  stop: () => Promise<void>;
};

export type Target = {
  id: string;
  title: string;
  /** Whether every 200 is a row. */
  stores: boolean;
  /** @throws {BenchError} saying why it cannot be measured */
  open: () => Promise<OpenTarget>;
};

/** What all targets of a run share. */
export type Setting = {
  databaseUrl: string;
  generator: LoadGenerator;
  folder: string;
  signal: AbortSignal;
  /** Whether the peers log nothing. */
  quietPeers: boolean;
  /** The store, or why it cannot run. */
  store: { command: ServerCommand; token: string } | BenchError;
};

const peers = [
  ['express-prisma', 'Express and Prisma', ['express', 'pino-http', '@prisma/client', '@prisma/adapter-pg']],
  ['fastify-pg', 'Fastify and pg', ['fastify', 'pg']],
  ['fastify-prisma', 'Fastify and Prisma', ['fastify', '@prisma/client', '@prisma/adapter-pg']],
  [
    'nestjs-prisma',
    'NestJS and Prisma',
    ['@nestjs/core', '@nestjs/common', '@nestjs/platform-fastify', '@prisma/client'],
  ],
  ['platformatic-db', 'Platformatic DB', ['@platformatic/db']],
  ['group-commit-bare', 'Bare group commit', ['pg']],
  ['node-http-bare', 'Bare node:http, stores nothing', []],
] as const;

/** Peers check no token; they get one all the same, for the requests to be of one size. */
const PEER_TOKEN = `plant_${'0'.repeat(43)}`;

export const createTargets = (setting: Setting): Target[] => {
  const store: Target = { id: 'store', title: 'Plant Store', stores: true, open: () => openStore(setting) };
  const pgbench: Target = {
    id: 'pgbench',
    title: 'pgbench, single INSERTs',
    stores: true,
    open: () => openPgbench(setting),
  };
  const servers = peers.map(([id, title, packages]): Target => {
    const open = () => openPeer({ setting, id, packages });
    return { id, title, stores: id !== 'node-http-bare', open };
  });
  return [store, ...servers.slice(0, -2), pgbench, ...servers.slice(-2)];
};

const openStore = async (setting: Setting) => {
  if (setting.store instanceof BenchError) throw setting.store;
  return openServer({ setting, ...setting.store });
};

type Peer = { setting: Setting; id: string; packages: readonly string[] };

const openPeer = async ({ setting, id, packages }: Peer) => {
  const folder = import.meta.dirname;
  const missing = packages.filter((name) => !existsSync(join(folder, 'node_modules', name)));
  if (missing.length > 0) throw new BenchError(`not installed: ${missing.join(', ')}`);
  const env = { DATABASE_URL: setting.databaseUrl, PEER_LOG: setting.quietPeers ? 'off' : 'on' };
  const command = { args: [join(folder, 'peers', `${id}.ts`)], cwd: folder, env };
  return openServer({ setting, command, token: PEER_TOKEN });
};

type OpenServer = { setting: Setting; command: ServerCommand; token: string };

const openServer = async ({ setting, command, token }: OpenServer): Promise<OpenTarget> => {
  const { folder, signal, generator } = setting;
  const { pid, url, logFile, stop } = await startServer({ command, token, folder, signal });
  return {
    load: (load) => generator.run({ ...load, url, token, signal }),
    cpuSeconds: () => cpuSeconds(pid),
    peakMemory: () => peakMemory(pid),
    pid,
    logFile,
    get: (path) => fetch(new URL(path, url), { headers: { Authorization: `Bearer ${token}` }, signal }),
    stop,
  };
};
