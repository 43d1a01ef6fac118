import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

/** The ids under which PostgreSQL runs; undefined: those of this process. */
export type ServerAccount = { uid: number; gid: number } | undefined;

/**
 * PostgreSQL refuses to run as root. Root's store runs it as the owner of the data, and a new one as the account
 * `postgres` where there is one, else as `nobody`.
 */
export const findServerAccount = (clusterDirectory: string): ServerAccount => {
  if (process.getuid?.() !== 0) {
    assertAccountExists();
    return undefined;
  }
  if (existsSync(clusterDirectory)) {
    const { uid, gid } = statSync(clusterDirectory);
    if (uid !== 0) return { uid, gid };
  }
  return accountNamed('postgres') ?? accountNamed('nobody');
};

const accountNamed = (name: string): ServerAccount => {
  try {
    const id = (option: string) => Number(execFileSync('id', [option, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined;
  }
};

/** initdb and postgres look their user id up and end without a name for it (as with `docker run --user 12345`). */
const assertAccountExists = () => {
  try {
    execFileSync('id', ['-un'], { stdio: 'ignore' });
  } catch {
    throw new EmbeddedPostgresError(
      `The user id ${process.getuid?.()} has no name in /etc/passwd, and PostgreSQL needs one. ` +
        'Run as a named user, or set DATABASE_URL to a PostgreSQL of your own.',
    );
  }
};

/** @throws {EmbeddedPostgresError} naming the folder above `path` that keeps the account out */
export const assertReachable = (path: string, account: ServerAccount) => {
  if (account === undefined) return;
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) {
    const { uid, gid, mode } = statSync(dirname(folder));
    const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
    if ((mode >> shift) & 1) continue;
    throw new EmbeddedPostgresError(
      `PostgreSQL does not run as root, and the account it runs as (user id ${account.uid}) cannot reach ${path}, ` +
        `because ${dirname(folder)} is closed to it. Run as the user who owns that folder, open it (chmod o+x), ` +
        'move the project or set DATA_DIR to where it can be reached, or set DATABASE_URL to a PostgreSQL of your own.',
    );
  }
};
