import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerAccount } from '../../src/embedded-postgres/server-account.ts';

const run = (program: string, ...words: string[]) =>
  execFileSync(program, words, { stdio: ['ignore', 'ignore', 'pipe'] });

const mount = (folder: string, megabytes: number, account: ServerAccount) => {
  const owner = account ? `,uid=${account.uid},gid=${account.gid}` : '';
  run('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700${owner}`, 'tmpfs', folder);
};

/** Why this machine cannot mount a small file system; undefined if it can. */
export const smallDiskObstacle = (): string | undefined => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'mounting a small disk needs root on Linux';
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-mount-'));
  try {
    mount(folder, 1, undefined);
    run('umount', folder);
    return undefined;
  } catch {
    return 'root may not mount a small disk here';
  } finally {
    rmdirSync(folder);
  }
};

/** A file system of a few MB that belongs to the account. */
export const mountSmallDisk = (folder: string, megabytes: number, account: ServerAccount) => {
  mount(folder, megabytes, account);
  let mounted = true;
  const unmount = () => {
    if (mounted) run('umount', '--lazy', folder);
    mounted = false;
  };
  process.on('exit', unmount);
  const ballast = join(folder, 'ballast');
  return {
    /** Fills the disk by writing more than fits. */
    fill: () => {
      try {
        writeFileSync(ballast, Buffer.alloc(megabytes * 2 ** 20));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
        throw error;
      }
      throw new Error(`${folder}: not full with ${megabytes} MB more`);
    },
    /** Frees the space again. */
    clear: () => rmSync(ballast, { force: true }),
    unmount,
  };
};
