import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { NOTHING_SET, projectFolder } from './store-process.ts';

const BASE_IMAGES = ['node:26-bookworm-slim', 'postgres:18'];
/** How long a container may take to do what is expected of it, in ms. */
const PATIENCE = 120_000;

/** Neither the environment nor the .env of the one who tests counts. */
const UNSET = { ...NOTHING_SET, PUBLISH_ADDRESS: '' };

const run = (program: string, words: string[], env = process.env) =>
  promisify(execFile)(program, words, { cwd: projectFolder, env, maxBuffer: 64 * 1024 * 1024 });

/** @throws with what the command printed, where it fails */
export const docker = async (...words: string[]): Promise<string> => (await run('docker', words)).stdout.trim();

/** Waits until a container did what is expected of it. @throws with what `told` then says, where it takes too long */
export const waitUntil = async (isSo: () => Promise<boolean>, told: () => Promise<string>): Promise<void> => {
  const deadline = performance.now() + PATIENCE;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`waited ${PATIENCE} ms in vain:\n${await told()}`);
    await setTimeout(250);
  }
};

const succeeds = (promise: Promise<unknown>) =>
  promise.then(
    () => true,
    () => false,
  );

/** The command in front of `up`: that of today, or the one that came before it. */
const findCompose = async () => {
  for (const command of ['docker compose', 'docker-compose']) {
    const [program = '', ...words] = command.split(' ');
    if (await succeeds(run(program, [...words, 'version']))) return { program, words };
  }
  return undefined;
};

const compose = await findCompose();

/** What keeps containers from being tested on this machine; undefined: nothing. */
export const findObstacle = async (): Promise<string | undefined> => {
  if (!(await succeeds(docker('version')))) return 'no Docker engine answers';
  if (compose === undefined) return 'there is neither `docker compose` nor `docker-compose`';
  for (const image of BASE_IMAGES) {
    const isThere = (await succeeds(docker('image', 'inspect', image))) || (await succeeds(docker('pull', image)));
    if (!isThere) return `the image ${image} is neither here nor can it be pulled`;
  }
  return undefined;
};

/** The stack of docker-compose.yml under a name and on ports of its own, with an image of its own. */
export const createStack = async () => {
  const name = `plant-store-test-${randomBytes(4).toString('hex')}`;
  const [port, studioPort] = [await freePort(), await freePort()];
  const environment = {
    ...process.env,
    ...UNSET,
    COMPOSE_PROJECT_NAME: name,
    PLANT_STORE_IMAGE: name,
    PORT: String(port),
    STUDIO_PORT: String(studioPort),
    // What a password may contain and a URL may not.
    POSTGRES_PASSWORD: `${randomBytes(8).toString('hex')}@/:#%`,
    POSTGRES_STORE_PASSWORD: `${randomBytes(8).toString('hex')}'"$\\`,
  };
  const command = async (...words: string[]) => {
    // This file alone, without an override of the one who tests.
    const options = ['--file', 'docker-compose.yml', '--profile', 'studio'];
    return run(compose?.program ?? '', [...(compose?.words ?? []), ...options, ...words], environment);
  };
  const containerOf = async (service: string) => (await command('ps', '--all', '--quiet', service)).stdout.trim();
  const inspect = async (service: string, format: string) =>
    docker('inspect', '--format', format, await containerOf(service));
  const logs = async (service: string) => (await command('logs', '--no-color', service)).stdout;
  return {
    image: name,
    url: `http://127.0.0.1:${port}`,
    studioUrl: `http://127.0.0.1:${studioPort}`,
    inspect,
    logs,
    build: () => command('build', 'migrate'),
    /** Starts services and what they depend on; resolves when the store is healthy. */
    up: async (...services: string[]) => {
      await command('up', '--detach', ...services);
      const isHealthy = async () => (await inspect('store', '{{.State.Health.Status}}')) === 'healthy';
      await waitUntil(isHealthy, () => logs('store'));
    },
    stop: (service: string) => command('stop', service),
    /** Runs a program in the container of a service. @returns what it printed */
    execute: async (service: string, ...words: string[]) => {
      const { stdout, stderr } = await command('exec', '-T', service, ...words);
      return (stdout + stderr).trim();
    },
    down: () => command('down'),
    remove: async () => {
      await command('down', '--volumes', '--remove-orphans');
      for (const image of [name, `${name}-studio`]) await succeeds(docker('image', 'rm', image));
    },
  };
};
