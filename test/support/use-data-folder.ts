import { afterEach, beforeEach } from '@jest/globals';
import { killChildren } from './children.ts';
import { makeDataFolder, removeDataFolder } from './temporary-folder.ts';

/** Makes a folder for each test. After the test, processes that still run are killed and the folder is removed. */
export const useDataFolder = (): { path: string } => {
  const folder = { path: '' };
  beforeEach(() => {
    folder.path = makeDataFolder();
  });
  afterEach(() => {
    killChildren();
    removeDataFolder(folder.path);
  });
  return folder;
};
