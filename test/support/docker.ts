import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { succeeds } from './succeeds.ts';

/** @throws {Error} with the output of the command if it fails */
export const docker = async (...words: string[]): Promise<string> => {
  const { stdout } = await promisify(execFile)('docker', words, { maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
};

/** Why this machine cannot run the images, which are pulled if they are missing; undefined if it can. */
export const findImageObstacle = async (...images: string[]): Promise<string | undefined> => {
  if (!(await succeeds(docker('version')))) return 'Docker is not running';
  for (const image of images) {
    const isThere = (await succeeds(docker('image', 'inspect', image))) || (await succeeds(docker('pull', image)));
    if (!isThere) return `the image ${image} is not here and cannot be pulled`;
  }
  return undefined;
};
