import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { docker, findImageObstacle } from './docker.ts';
import { NOTHING_SET, projectFolder } from './store-process.ts';
import { succeeds } from './succeeds.ts';
import { waitUntil } from './wait-until.ts';

const BASE_IMAGES = ['node:26-bookworm-slim', 'postgres:18'];
/** In ms. */
const PATIENCE = 120_000;

/** Overrides the environment and .env. */
const UNSET = { ...NOTHING_SET, PUBLISH_ADDRESS: '' };

const run = (program: string, words: string[], env = process.env) =>
  promisify(execFile)(program, words, { cwd: projectFolder, env, maxBuffer: 64 * 1024 * 1024 });

/** Waits for a container longer than for other processes. @throws {Error} with its logs */
export const waitForContainer = (what: string, holds: () => Promise<boolean>, logs: () => Promise<string>) =>
  waitUntil(what, holds, { patience: PATIENCE, explain: logs });

/** `docker compose`, or the older `docker-compose`. */
const findCompose = async () => {
  for (const command of ['docker compose', 'docker-compose']) {
    const [program = '', ...words] = command.split(' ');
    if (await succeeds(run(program, [...words, 'version']))) return { program, words };
  }
  return undefined;
};

const compose = await findCompose();

/** Why this machine cannot run the containers, with further images; undefined if it can. */
export const findObstacle = async (...images: string[]): Promise<string | undefined> => {
  return (await findImageObstacle(...BASE_IMAGES, ...images)) ?? composeObstacle;
};

/** Without an engine, Compose can still check a file. */
export const composeObstacle = compose ? undefined : 'neither `docker compose` nor `docker-compose` found';

/** @throws {Error} what is wrong with a compose file */
export const checkComposeFile = (file: string, profiles: string[]) => {
  const options = profiles.flatMap((profile) => ['--profile', profile]);
  return run(compose?.program ?? '', [...(compose?.words ?? []), '--file', file, ...options, 'config', '--quiet']);
};

/** As in docker-compose.yml. */
const HAPROXY_IMAGE = 'haproxy:3.2';
/** Where Debian installs HAProxy. */
const HAPROXY = '/usr/sbin/haproxy';

/**
 * The image of HAProxy that docker-compose.yml names; where it cannot be pulled, one with the HAProxy of this machine.
 * @returns undefined if there is none
 */
export const findHaproxyImage = async (): Promise<string | undefined> => {
  if ((await findObstacle(HAPROXY_IMAGE)) === undefined) return HAPROXY_IMAGE;
  if ((await findObstacle()) || !existsSync(HAPROXY)) return undefined;
  const standIn = `plant-store-test-haproxy-${randomBytes(4).toString('hex')}`;
  const entrypoint = JSON.stringify([HAPROXY, '-W', '-db', '-f', '/usr/local/etc/haproxy/haproxy.cfg']);
  const files = `${HAPROXY} $(ldd ${HAPROXY} | grep -o '/[^ ]*')`;
  const change = `--change 'USER 99' --change 'ENTRYPOINT ${entrypoint}'`;
  await run('sh', [
    '-c',
    `tar --create --dereference --absolute-names ${files} | docker import ${change} - ${standIn}`,
  ]);
  return standIn;
};

/** The stack of docker-compose.yml with its own name, ports and image. */
export const createStack = async (haproxyImage = HAPROXY_IMAGE) => {
  const name = `plant-store-test-${randomBytes(4).toString('hex')}`;
  const [port, studioPort, proxyPort] = [await freePort(), await freePort(), await freePort()];
  const environment = {
    ...process.env,
    ...UNSET,
    COMPOSE_PROJECT_NAME: name,
    PLANT_STORE_IMAGE: name,
    HAPROXY_IMAGE: haproxyImage,
    PORT: String(port),
    STUDIO_PORT: String(studioPort),
    PROXY_PORT: String(proxyPort),
    // With characters that are not allowed in a URL.
    POSTGRES_PASSWORD: `${randomBytes(8).toString('hex')}@/:#%`,
    POSTGRES_STORE_PASSWORD: `${randomBytes(8).toString('hex')}'"$\\`,
  };
  const command = async (...words: string[]) => {
    // Without docker-compose.override.yml.
    const options = ['--file', 'docker-compose.yml', '--profile', 'studio', '--profile', 'replicas'];
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
    proxyUrl: `http://127.0.0.1:${proxyPort}`,
    /** Runs deploy/rolling-restart, with further settings. @returns what it prints */
    restart: async (settings = {}) => (await run('deploy/rolling-restart', [], { ...environment, ...settings })).stdout,
    inspect,
    logs,
    build: () => command('build', 'prepare'),
    /** Starts services with their dependencies. Waits until the store, if it is one of them, is healthy. */
    up: async (...services: string[]) => {
      await command('up', '--detach', ...services);
      if (!services.includes('store')) return;
      const isHealthy = async () => (await inspect('store', '{{.State.Health.Status}}')) === 'healthy';
      await waitForContainer('the store to be healthy', isHealthy, () => logs('store'));
    },
    stop: (service: string) => command('stop', service),
    /** Runs a program in the container of a service. @returns its output */
    execute: async (service: string, ...words: string[]) => {
      const { stdout, stderr } = await command('exec', '-T', service, ...words);
      return (stdout + stderr).trim();
    },
    down: () => command('down'),
    remove: async () => {
      await command('down', '--volumes', '--remove-orphans');
      const standIns = haproxyImage === HAPROXY_IMAGE ? [] : [haproxyImage];
      for (const image of [name, `${name}-studio`, ...standIns]) await succeeds(docker('image', 'rm', image));
    },
  };
};
