import { once } from 'node:events';
import { afterAll, beforeAll } from '@jest/globals';
import { killChildren } from './children.ts';
import { createPostgresServer, type PostgresServer } from './postgres-server.ts';
import { runCommand, spawnCommand } from './store-process.ts';
import { makeDataFolder, removeDataFolder } from './temporary-folder.ts';

/** A line of `plant-store changes`. */
export type Line = {
  change: 'created' | 'updated' | 'deleted' | 'emptied';
  id?: number;
  name?: string;
  tag?: string | null;
  committedAt: string;
  position: string;
};

const SETTINGS = 'wal_level = logical\nwal_sender_timeout = 3s\nmax_replication_slots = 20\n';

/** The PostgreSQL server of a test file, with `wal_level = logical` unless `settings` say otherwise, and its migrated store. */
export const useChanges = (settings = SETTINGS) => {
  const shared = {} as { folder: string; postgres: PostgresServer; environment: Record<string, string> };
  beforeAll(async () => {
    shared.folder = makeDataFolder();
    shared.postgres = await createPostgresServer({ folder: shared.folder, name: 'changes', settings });
    await shared.postgres.start();
    shared.environment = { DATABASE_URL: shared.postgres.url, DATA_DIR: shared.folder };
    await runCommand(['migrate'], shared.environment);
  });
  afterAll(async () => {
    killChildren();
    await shared.postgres.stop();
    removeDataFolder(shared.folder);
  });
  return shared;
};

type ChangesServer = ReturnType<typeof useChanges>;

/** Runs `changes --slot` with another option, or until it ends. */
export const changes = ({ environment }: ChangesServer, slot: string, ...words: string[]) =>
  runCommand(['changes', '--slot', slot, ...words], environment);

/** Follows a slot. `lines`: what came so far, whole lines only. */
export const startReader = ({ environment }: ChangesServer, slot: string) => {
  const command = spawnCommand(['changes', '--slot', slot], environment);
  const lines: Line[] = [];
  const errors = { text: '' };
  let rest = '';
  command.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) lines.push(JSON.parse(part));
  });
  command.stderr?.on('data', (chunk) => (errors.text += chunk));
  const ended = once(command, 'close').then(([code]: (number | null)[]) => code);
  return {
    command,
    lines,
    errors,
    ended,
    /** Sends a signal to its process group. @returns its exit code; null if the signal ended it */
    end: (signal: NodeJS.Signals) => {
      if (command.exitCode === null) process.kill(-(command.pid ?? 0), signal);
      return ended;
    },
  };
};

/** A position as a number. */
export const toNumber = (position: string): bigint => {
  const [high, low] = position.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
};
