import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Writes a file that only its owner can read, at every moment. It replaces an existing one, whose mode may be another. */
export const writeSecretFile = (path: string, text: string): void => {
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  try {
    // `wx`: never into a file or link of somebody else.
    writeFileSync(unfinished, text, { mode: 0o600, flag: 'wx' });
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    // An error of writing, such as that of a full disk, does not say where.
    throw Object.assign(error as Error, { path });
  }
};

/** Reads such a file. Takes it away from others first, who may read it if it was copied. */
export const readSecretFile = (path: string): string => {
  try {
    chmodSync(path, 0o600);
  } catch {
    // Not every file system has modes, and this user may not own the file.
  }
  return readFileSync(path, 'utf8');
};
