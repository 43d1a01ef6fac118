import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { OperationalError } from '../errors.ts';

/** The user and group that PostgreSQL runs as; undefined: those of this process. */
export type ServerAccount = { uid: number; gid: number } | undefined;

/**
 * PostgreSQL refuses to run as root. For root, it runs as the owner of the data directory; a new one belongs to the
 * account `postgres` if it exists, else to `nobody`.
 */
export const findServerAccount = (clusterDirectory: string): ServerAccount => {
  if (process.getuid?.() !== 0) {
    assertAccountExists();
    return undefined;
  }
  const { uid = 0, gid = 0 } = statSync(clusterDirectory, { throwIfNoEntry: false }) ?? {};
  if (uid !== 0) return { uid, gid };
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

/** initdb and postgres fail if their user id has no name, as with `docker run --user 12345`. */
const assertAccountExists = () => {
  try {
    userInfo();
  } catch {
    throw new OperationalError(
      `The user id ${process.getuid?.()} has no name in /etc/passwd, and PostgreSQL needs one. ` +
        'Run as a named user, or set DATABASE_URL to use another PostgreSQL.',
    );
  }
};

/** @throws {OperationalError} with the folder above `path` that the account cannot enter */
export const assertReachable = (path: string, account: ServerAccount) => {
  if (account === undefined) return;
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) {
    const { uid, gid, mode } = statSync(dirname(folder));
    const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
    if ((mode >> shift) & 1) continue;
    throw new OperationalError(
      `PostgreSQL does not run as root, and the account it runs as (user id ${account.uid}) cannot reach ${path}, ` +
        `because it has no permission to enter ${dirname(folder)}. Run as the owner of that folder, open it (chmod o+x), ` +
        'set DATA_DIR to another folder, move the project, or set DATABASE_URL to use another PostgreSQL.',
    );
  }
};
