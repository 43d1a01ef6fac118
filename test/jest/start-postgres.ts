import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { leaseEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { findCitusObstacle, startCitusCluster } from '../support/citus-cluster.ts';
import { query } from '../support/postgres-server.ts';
import { makeDataFolder } from '../support/temporary-folder.ts';
import { databaseUrl, TEMPLATE } from '../support/test-database.ts';

const IMAGE = 'postgres:18';

/** Starts one PostgreSQL for all tests, with a migrated database that tests clone. */
const startPostgres = async (): Promise<void> => {
  const isOnCitus = process.env.TEST_DATABASE === 'citus';
  const server = isOnCitus ? await startCitus() : ((await startContainer()) ?? (await startEmbedded()));
  Object.assign(globalThis, { stopPostgres: server.stop });
  process.env.TEST_POSTGRES_URL = server.url;
  await neverWaitForTheDisk(server.url);
  await query(server.url, `CREATE DATABASE ${TEMPLATE}`);
  await promisify(execFile)(process.execPath, ['src/main.ts', 'migrate'], {
    env: { ...process.env, DATABASE_URL: databaseUrl(TEMPLATE) },
  });
};

export default startPostgres;

/** Tests create and drop hundreds of databases, and each waits for the disk otherwise. No test here stops this server. */
const neverWaitForTheDisk = async (url: string) => {
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes'])
    await query(url, `ALTER SYSTEM SET ${setting} = off`);
  await query(url, 'SELECT pg_reload_conf()');
};

const startContainer = async () => {
  try {
    await getContainerRuntimeClient();
  } catch {
    say('No Docker engine answers: the tests run on the embedded PostgreSQL 18.');
    return undefined;
  }
  try {
    const container = await new GenericContainer(IMAGE)
      .withEnvironment({ POSTGRES_PASSWORD: 'test' })
      .withExposedPorts(5432)
      // In memory: the file system took a quarter of the CPU to give hundreds of databases their thousands of files.
      .withTmpFs({ '/var/lib/postgresql': 'rw' })
      // Not the log: the image starts its server twice, first only on a socket. Not a health check: Docker would repeat
      // it until the end and slow down the tests.
      .withWaitStrategy(Wait.forSuccessfulCommand('pg_isready -U postgres -h 127.0.0.1'))
      .start();
    say(`Docker answers: the tests run on Testcontainers with ${IMAGE}.`);
    const url = `postgresql://postgres:test@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
    return { url, stop: () => container.stop() };
  } catch (error) {
    say(`Docker answers but starts no ${IMAGE} (${error}): the tests run on the embedded PostgreSQL 18.`);
    return undefined;
  }
};

const startEmbedded = async () => {
  const folder = makeDataFolder();
  const { url, release } = await leaseEmbeddedPostgres(folder);
  const stop = async () => {
    await release();
    rmSync(folder, { recursive: true });
  };
  return { url, stop };
};

/** With TEST_DATABASE=citus. */
const startCitus = async () => {
  const obstacle = await findCitusObstacle();
  if (obstacle) throw new Error(`TEST_DATABASE is citus, but ${obstacle}.`);
  const folder = makeDataFolder();
  const { coordinator, workers, stop } = await startCitusCluster(folder);
  process.env.TEST_CITUS_NODES = JSON.stringify([coordinator, ...workers]);
  for (const { url } of workers) await neverWaitForTheDisk(url);
  say('The tests run on a Citus cluster.');
  return {
    url: coordinator.url,
    stop: async () => {
      await stop();
      rmSync(folder, { recursive: true });
    },
  };
};

const say = (line: string) => process.stderr.write(`\n${line}\n`);
