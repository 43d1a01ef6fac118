import { spawnSync } from 'node:child_process';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { spawnChild } from './children.ts';
import { projectFolder } from './store-process.ts';
import { waitUntil } from './wait-until.ts';

// Debian installs it where only root's PATH leads.
const PATH = `${process.env.PATH}:/usr/sbin`;

/** Why HAProxy cannot run here; undefined if it can. */
export const haproxyObstacle = (): string | undefined =>
  spawnSync('haproxy', ['-v'], { env: { PATH } }).error && 'HAProxy is not installed (Debian: haproxy)';

/**
 * Starts HAProxy with the configuration of deploy/haproxy, and waits until it reaches a store.
 * @param edit changes the configuration
 */
export const startHaproxy = async (ports: number[], logFile: string, edit = (text: string) => text) => {
  const file = `${logFile}.cfg`;
  writeFileSync(file, edit(readFileSync(join(projectFolder, 'deploy/haproxy/haproxy.cfg'), 'utf8')));
  const address = `127.0.0.1:${await freePort()}`;
  const stores = Object.fromEntries(ports.map((port, index) => [`STORE_${index + 1}`, `127.0.0.1:${port}`]));
  const log = openSync(logFile, 'a');
  const child = spawnChild('haproxy', ['-db', '-f', file], {
    cwd: projectFolder,
    env: { PATH, BIND: address, ...stores },
    stdio: ['ignore', log, log],
  });
  const url = `http://${address}`;
  await waitUntil(
    'HAProxy to reach a store',
    async () => (await fetch(`${url}/livez`).catch(() => undefined))?.ok === true,
    { explain: () => `its log is ${logFile}` },
  );
  return { url, stop: () => child.kill() };
};
