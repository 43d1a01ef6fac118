import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GenericContainer, Network, type StartedNetwork, Wait } from 'testcontainers';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import type { CitusNode } from './citus-database.ts';
import { docker, findImageObstacle } from './docker.ts';
import { createPostgresServer, PASSWORD, query, USER } from './postgres-server.ts';
import { psqlObstacle } from './psql.ts';
import { succeeds } from './succeeds.ts';
import { waitUntil } from './wait-until.ts';

/** What docs/how-to/citus.md recommends, and connections without TLS. */
const SETTINGS = Object.entries({
  shared_preload_libraries: 'citus',
  wal_level: 'logical',
  max_prepared_transactions: '200',
  max_connections: '300',
  'citus.recover_2pc_interval': '1s',
  'citus.node_conninfo': 'sslmode=prefer',
});
const LOCALE = 'C.UTF-8';
/** In ms. */
const START_TIMEOUT = 120_000;

/** The official image, as in deploy/citus/compose.yml. */
const [, IMAGE = ''] = /image: (citusdata\/\S+)/.exec(readFileSync('deploy/citus/compose.yml', 'utf8')) ?? [];

/** Why no cluster can be started; undefined if it can. Without CITUS_BIN, pulls the official image. */
export const findCitusObstacle = async (): Promise<string | undefined> => {
  if (process.env.CITUS_BIN) return undefined;
  const obstacle = psqlObstacle() ?? (await findImageObstacle(IMAGE));
  return obstacle && `CITUS_BIN is not set, and ${obstacle}`;
};

type RunningNode = CitusNode & {
  start: () => Promise<void>;
  /** `kill -9` */
  kill: () => Promise<void>;
  stop: () => Promise<void>;
};

/**
 * Starts a coordinator and two workers, without any database for Citus: from the programs in the folder CITUS_BIN, or else in
 * containers.
 * @param folder for data directories
 */
export const startCitusCluster = async (folder: string) => {
  const bin = process.env.CITUS_BIN;
  const network = bin ? undefined : await new Network().start();
  const start = (name: string) => (network ? startContainer(network, name) : startProcess(folder, name, bin ?? ''));
  const [coordinator, ...workers] = await Promise.all([start('coordinator'), start('worker-1'), start('worker-2')]);
  return {
    coordinator,
    workers,
    stop: async () => {
      await Promise.all([coordinator, ...workers].map((node) => node.stop()));
      await network?.stop();
    },
  };
};

const startProcess = async (folder: string, name: string, bin: string): Promise<RunningNode> => {
  const server = await createPostgresServer({
    folder,
    name,
    binaries: { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') },
    locale: LOCALE,
    settings: SETTINGS.map(([setting, value]) => `${setting} = '${value}'\n`).join(''),
  });
  await server.start();
  return { ...server, host: '127.0.0.1' };
};

const startContainer = async (network: StartedNetwork, name: string): Promise<RunningNode> => {
  // A container that is started again keeps a port only if it was chosen for it.
  const hostPort = await freePort();
  const container = await new GenericContainer(IMAGE)
    .withNetwork(network)
    .withNetworkAliases(name)
    .withExposedPorts({ container: 5432, host: hostPort })
    .withEnvironment({
      POSTGRES_USER: USER,
      POSTGRES_PASSWORD: PASSWORD,
      POSTGRES_INITDB_ARGS: `--locale=${LOCALE}`,
    })
    .withCommand(['postgres', ...SETTINGS.flatMap(([setting, value]) => ['-c', `${setting}=${value}`])])
    // Not the log: the image starts its server twice, first only on a socket.
    .withWaitStrategy(
      Wait.forSuccessfulCommand(`pg_isready --username=${USER} --host=127.0.0.1`).withStartupTimeout(START_TIMEOUT),
    )
    .start();
  const url = `postgresql://${USER}:${PASSWORD}@${container.getHost()}:${hostPort}/postgres`;
  return {
    url,
    host: name,
    port: 5432,
    start: async () => {
      await docker('start', container.getId());
      await waitUntil(`${name} to accept connections`, () => succeeds(query(url, 'SELECT')));
    },
    kill: async () => {
      await docker('kill', container.getId());
    },
    stop: async () => {
      await container.stop();
    },
  };
};
