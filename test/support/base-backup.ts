import { execFile } from 'node:child_process';
import { chownSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { makeFolder, type PostgresServer } from './postgres-server.ts';

/** Not copied: the server creates it again, or gets it from the archive or the primary. */
const LEFT_OUT = new Set(['pg_wal', 'postmaster.pid', 'postmaster.opts']);

/** Copies a running server into an empty folder with PostgreSQL's low-level API (manual, §25.3.4). */
export const takeBaseBackup = async (server: PostgresServer, into: string): Promise<void> => {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  try {
    await client.query("SELECT pg_backup_start('copy', fast => true)");
    const names = readdirSync(server.directory).filter((name) => !LEFT_OUT.has(name));
    const paths = names.map((name) => join(server.directory, name));
    await promisify(execFile)('cp', ['-a', ...paths, into]);
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop()');
    const label = join(into, 'backup_label');
    writeFileSync(label, rows[0]?.labelfile ?? '');
    if (server.account) chownSync(label, server.account.uid, server.account.gid);
    makeFolder(join(into, 'pg_wal'), server.account);
  } finally {
    await client.end();
  }
};
